import { execFile, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Document, listGroups, type Operation, searchGroups } from '../../console/reference/document.ts'
import { exampleValues, prepare } from '../../console/reference/requests.ts'
import { type Language, writeSample } from '../../console/reference/samples.ts'
import { type Client, createClient, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization } from '../support/people.ts'
import { OWNER } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { copiedBy, findBarriers, useBrowser } from './browser.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/**
 * The page with all of its files, as transferred. The previous page, made by another program, had 2.5 MB, as it sent nothing
 * compressed.
 */
const PAGE_BYTES = 165_000

const { server } = useServer({ RATE_LIMIT_PER_MINUTE: '0' })
const page = () => `${server.url}/api/v3/docs`
const readDocument = async () =>
  (await (await fetch(`${server.url}/api/v3/openapi.json`)).json()) as Document & { openapi: string }

describe('The description of the API', () => {
  it('has every file that its page names', async () => {
    const html = await (await fetch(page())).text()
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(match => match[1] as string)
    expect(files.length).toBeGreaterThan(2)
    for (const file of files) expect((await fetch(new URL(file, server.url))).status, file).toBe(200)
  })

  it('runs only its own scripts and styles, and cannot be framed', async () => {
    const policy = (await fetch(page())).headers.get('content-security-policy')
    expect(policy).toContain(`default-src 'none'; script-src 'self'; style-src 'self'`)
    expect(policy).toContain(`connect-src 'self';`)
    expect(policy).toContain(`frame-ancestors 'none'`)
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
  })

  it('has no unknown parameters, as any other route', async () => {
    for (const path of ['docs', 'docs/', 'openapi.json']) {
      const answer = await fetch(`${server.url}/api/v3/${path}?shoe=1`)
      expect([path, answer.status]).toEqual([path, 400])
      expect(await answer.json()).toMatchObject({ status: false, errors: [{ path: 'shoe' }] })
    }
  })

  it('is sent compressed, and not again to a client that has it', async () => {
    const get = (headers: Record<string, string>) => fetch(`${server.url}/api/v3/openapi.json`, { headers })
    const plain = await get({ 'accept-encoding': 'identity' })
    const text = await plain.text()
    expect(JSON.parse(text)).toMatchObject({ openapi: '3.1.0' })
    for (const encoding of ['br', 'gzip']) {
      const answer = await get({ 'accept-encoding': encoding })
      expect(answer.headers.get('content-encoding')).toBe(encoding)
      expect(Number(answer.headers.get('content-length'))).toBeLessThan(text.length / 8)
      expect(await answer.text()).toBe(text)
    }
    const known = await get({ 'if-none-match': plain.headers.get('etag') as string })
    expect([known.status, await known.text()]).toEqual([304, ''])
  })

  it('is in the order of an integration: the process comes last', async () => {
    const document = await readDocument()
    expect(document.paths['/api/v3/live']?.get).toMatchObject({ 'x-permission': 'session' })
    const groups = listGroups(document)
    const names = groups.map(({ name }) => name)
    expect(names.slice(0, 5)).toEqual(['Accounts', 'Devices', 'Location history', 'Apps', 'Live'])
    expect(names.at(-1)).toBe('Process')
    const listed = groups.flatMap(({ operations }) => operations)
    const described = Object.values(document.paths).flatMap(methods => Object.keys(methods))
    expect(listed.length).toBe(described.length + Object.keys(document.webhooks).length)
    expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length)
    const found = searchGroups(groups, 'KEY rotate').flatMap(({ operations }) =>
      operations.map(one => one.id),
    )
    expect(found).toContain('postDeviceByIdRotateKey')
    expect(found.length).toBeLessThan(10)
  })
})

/** These end the session that the others need. */
const ENDING = [
  'postAuthLogout',
  'postAuthSwitchOrganization',
  'postAuthChangePassword',
  'postOrganization',
  'postAuthCreateOrganization',
]
/** Their examples name a data type, a role or no subject, so they get 400 with a reason. */
const NAMING = [
  'getLocationHistoriesTrips',
  'postTrackingLink',
  'postUsersInvite',
  'postApiKey',
  'postData',
  'postImportConfig',
  'postDataImport',
  'postDataExport',
  'postAuthTotpConfirm',
]
/** Nobody has the address and password of the example, or its challenge. */
const SIGNING_IN = ['postAuthLogin', 'postAuthLoginTotp']
const hasPython = spawnSync('python3', ['--version']).status === 0

describe('The samples', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-samples-'))
  let operations: Operation[]
  let owner: Client
  let key: string

  beforeAll(async () => {
    owner = await signIn(server)
    key = (await createDevice(owner)).key
    const document = await readDocument()
    operations = listGroups(document)
      .flatMap(group => group.operations)
      .filter(
        ({ method, id, isSocket }) => ['GET', 'POST'].includes(method) && !isSocket && !ENDING.includes(id),
      )
    writeFileSync(join(folder, '.curlrc'), 'silent\nshow-error\nwrite-out = "\\n%{http_code}\\n"\n')
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const sampleOf = (language: Language, operation: Operation) => {
    const secret = operation.permission === 'device' ? key : owner.token
    return (
      writeSample(language, operation, prepare(operation, exampleValues(operation), server.url, secret)) ?? ''
    )
  }
  /** Not synchronously: the called server runs in this process. */
  const run = async (command: string, args: string[]) => {
    const running = promisify(execFile)(command, args, {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder },
      maxBuffer: 64 * 1024 ** 2,
    })
    running.child.stdin?.end()
    return (await running).stdout
  }
  /**
   * The status of each sample, printed after the line with its name. An example may name a missing record, but is never
   * invalid.
   */
  const expectAnswers = (output: string, status: RegExp) => {
    const parts = output.split(/^=== (\w+)\n/m).slice(1)
    const bad: string[] = []
    for (let index = 0; index < parts.length; index += 2) {
      const [name = '', said = ''] = parts.slice(index, index + 2)
      const code = Number(status.exec(said)?.[1])
      const isRight =
        code < 400 ||
        [403, 404, 409, 422].includes(code) ||
        (code === 400 && NAMING.includes(name)) ||
        (code === 401 && SIGNING_IN.includes(name))
      if (!isRight) bad.push(`${name}: ${said.slice(0, 300)}`)
    }
    expect(bad).toEqual([])
    expect(parts.length / 2).toBe(operations.length)
    expect(operations.length).toBeGreaterThan(60)
  }

  it('in curl run without changes', async () => {
    const lines = operations.map(one => `echo; echo '=== ${one.id}'\n${sampleOf('curl', one)}\n`)
    writeFileSync(join(folder, 'samples.sh'), lines.join('\n'))
    expectAnswers(await run('sh', ['samples.sh']), /(?:^|\n)(\d{3})(?: \S+)?\n*$/)
  })

  it('in TypeScript compile and run', async () => {
    const files = operations.map(one => {
      writeFileSync(join(folder, `${one.id}.ts`), sampleOf('TypeScript', one))
      return `${one.id}.ts`
    })
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--lib', 'es2023,dom']
    await run(join(ROOT, 'node_modules/.bin/tsc'), [
      ...options,
      '--module',
      'esnext',
      '--types',
      '',
      ...files,
    ])
    const all = operations.map(({ id }) => `console.log('\\n=== ${id}')\nawait import('./${id}.ts')\n`)
    writeFileSync(join(folder, 'samples.ts'), all.join(''))
    const tsx = join(ROOT, 'node_modules/tsx/dist/loader.mjs')
    expectAnswers(await run(process.execPath, ['--import', tsx, 'samples.ts']), /^(\d{3}) /)
  })

  it.skipIf(!hasPython)('in Python run without changes', async () => {
    const all = operations.map(one => {
      writeFileSync(join(folder, `${one.id}.py`), sampleOf('Python', one))
      return `print('\\n=== ${one.id}', flush=True)\nrunpy.run_path('${one.id}.py')\n`
    })
    writeFileSync(join(folder, 'samples.py'), `import runpy\n${all.join('')}`)
    expectAnswers(await run('python3', ['samples.py']), /^(\d{3}) /)
  })

  it('of the live socket opens it in curl, and shows every position in TypeScript', async () => {
    const live = listGroups(await readDocument())
      .flatMap(group => group.operations)
      .find(({ id }) => id === 'getLive') as Operation
    // It ends by itself, and would do so before it has connected on a machine that pauses.
    const sample = sampleOf('curl', live).replace(/ --max-time \d+ /, ' --max-time 60 ')
    const curl = spawn('sh', ['-c', `exec ${sample}`], { env: { PATH: process.env.PATH } })
    curl.stdin.end()
    let head = ''
    curl.stdout.on('data', chunk => {
      head += chunk
    })
    await until('it has answered', () => head.includes('\n') || curl.exitCode !== null)
    curl.kill()
    expect(head).toMatch(/^HTTP\/1.1 101 /)
    writeFileSync(join(folder, 'live.ts'), sampleOf('TypeScript', live))
    const flags = typeof WebSocket === 'undefined' ? ['--experimental-websocket'] : []
    const tsx = join(ROOT, 'node_modules/tsx/dist/loader.mjs')
    const child = spawn(process.execPath, [...flags, '--import', tsx, 'live.ts'], { cwd: folder })
    let said = ''
    child.stdout.on('data', chunk => {
      said += chunk
    })
    try {
      await until('a snapshot came', async () => said.includes('"snapshot"'))
    } finally {
      child.kill('SIGKILL')
    }
  })
})

describe('The API reference', () => {
  const screens = useBrowser({ map: 'none' })
  const enter = async (shown: Page) => {
    await shown.getByRole('button', { name: 'Sign in' }).click()
    const dialog = shown.getByRole('dialog', { name: 'Sign in' })
    await dialog.getByLabel('E-mail').fill(OWNER.email)
    await dialog.getByLabel('Password').fill(OWNER.password)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await shown.getByText(`Signed in as ${OWNER.email}`).waitFor()
  }
  const send = async (shown: Page, status: string) => {
    await shown.getByRole('button', { name: 'Send' }).click()
    await shown.getByRole('region', { name: 'Try it' }).getByText(status, { exact: true }).waitFor()
  }
  const answer = async (shown: Page) =>
    JSON.parse(await shown.getByRole('region', { name: 'Try it' }).locator('pre').innerText())

  it('leads from the sign-in to a device and its points without copying anything by hand', async () => {
    const shown = await screens.open(page())
    await enter(shown)
    await shown.getByRole('searchbox').fill('create device')
    await shown
      .getByRole('status')
      .getByText(/^\d+ operations$/)
      .waitFor()
    await shown.getByRole('link', { name: 'POST Create a device' }).click()
    await shown.getByRole('heading', { name: 'Create a device' }).waitFor()
    expect(new URL(shown.url()).hash).toBe('#postDevice')
    await shown.getByText('Permission create/device Your role has it.').waitFor()
    await send(shown, '201')
    const first = (await answer(shown)).data._id
    // Another try is another request: it creates another record, and does not repeat the first.
    await shown.getByLabel('Body').fill('{ "name": "Van 13" }')
    await shown.getByRole('button', { name: 'Send' }).click()
    await until('another device was made', async () => (await answer(shown)).data._id !== first)
    const { _id, key } = (await answer(shown)).data

    await shown.goto(`${page()}#postLocationHistoryBulk`)
    await shown.getByRole('heading', { name: /^Send up to 5,000 points/ }).waitFor()
    expect(await shown.getByLabel('Device key').inputValue()).toBe(key)
    await send(shown, '200')
    expect((await answer(shown)).data).toMatchObject({ accepted: 1 })
    await shown.goto(`${page()}#getDeviceById`)
    await shown.getByRole('heading', { name: 'A device' }).waitFor()
    expect(await shown.getByLabel('id', { exact: true }).inputValue()).toBe(_id)
    await send(shown, '200')
    expect((await answer(shown)).data.name).toBe('Van 13')

    const sample = shown.getByRole('region', { name: 'Sample' })
    const session = await shown.evaluate(() => localStorage.getItem('fieldline.session'))
    const { token } = JSON.parse(session as string)
    expect(await sample.innerText()).not.toContain(token)
    await sample.getByRole('button', { name: 'TypeScript' }).click()
    const copied = await copiedBy(sample, 'Copy')
    expect(copied).toContain(`Authorization: 'Bearer ${token}'`)
    expect(copied).toContain(`/api/v3/device/${_id}'`)

    await shown.getByRole('button', { name: 'Sign out' }).click()
    await shown.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  it('shows errors: of a password, a body, an ended session', async () => {
    const owner = await signIn(server)
    const shown = await screens.open(`${page()}#postHub`, { as: owner, mayFail: /40[01]/ })
    await shown.getByText(`Signed in as ${OWNER.email}`).waitFor()
    await shown.getByLabel('Body').fill('{ "name": ')
    await shown.getByRole('button', { name: 'Send' }).click()
    await shown.getByRole('region', { name: 'Try it' }).getByText('The body is not valid JSON.').waitFor()
    await shown.getByLabel('Body').fill('{ "name": "" }')
    await send(shown, '400')
    await owner.post('/auth/logout')
    await send(shown, '401')
    await shown.getByRole('button', { name: 'Sign in' }).click()
    await shown.getByLabel('E-mail').fill(OWNER.email)
    await shown.getByLabel('Password').fill('a wrong password')
    await shown.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click()
    await shown.getByRole('alert').getByText('The e-mail address or the password is wrong.').waitFor()
  })

  it.each([
    ['light', { width: 1_280, height: 800 }, 'en-GB'],
    ['dark', { width: 390, height: 844 }, 'de-DE'],
  ] as const)('is accessible: %s %o %s', async (theme, size, locale) => {
    const shown = await screens.open(page(), { theme, size, locale })
    // All of it is English, as the document is, whatever the browser's language.
    await shown.getByRole('heading', { level: 1, name: 'API reference' }).waitFor()
    await shown.getByRole('heading', { level: 2, name: 'Contents' }).waitFor()
    expect(await shown.evaluate(() => document.documentElement.lang)).toBe('en')
    expect(await findBarriers(shown)).toEqual([])
    for (const id of ['postTask', 'getLocationHistories', 'geofence-entered', 'getLive']) {
      await shown.goto(`${page()}#${id}`)
      await shown.getByRole('heading', { level: 1 }).waitFor()
      expect([id, ...(await findBarriers(shown))]).toEqual([id])
      expect(await shown.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(size.width)
    }
  })

  it('keeps the operation when its contents are skipped, and shows the start page for an unknown one', async () => {
    const screen = await screens.open(`${page()}#postDevice`)
    const title = screen.getByRole('heading', { level: 1 })
    await screen.getByRole('heading', { name: 'Create a device' }).waitFor()
    await screen.locator('.skip').focus()
    await screen.keyboard.press('Enter')
    await until('the content has the focus', () =>
      screen.evaluate(() => document.activeElement?.id === 'content'),
    )
    expect(await title.innerText()).toBe('Create a device')
    for (const hash of ['#%', '#toString', '#content']) {
      await screen.goto('about:blank')
      await screen.goto(`${page()}${hash}`)
      await screen.getByRole('heading', { name: 'API reference', level: 1 }).waitFor()
    }
  })

  it('is small, and requests nothing from other hosts', async () => {
    const shown = await screens.open(page())
    await shown.getByRole('heading', { name: 'Contents' }).waitFor()
    const asked = await shown.evaluate(() =>
      (performance.getEntries() as PerformanceResourceTiming[])
        .filter(({ entryType }) => ['resource', 'navigation'].includes(entryType))
        .map(({ name, encodedBodySize }) => ({ origin: new URL(name).origin, bytes: encodedBodySize })),
    )
    expect(new Set(asked.map(({ origin }) => origin))).toEqual(new Set([server.url]))
    const bytes = asked.reduce((sum, one) => sum + one.bytes, 0)
    expect(bytes).toBeGreaterThan(50_000)
    expect(bytes).toBeLessThan(PAGE_BYTES)
  })

  it('leads to the console, which shows the whole row of the subject', async () => {
    const { client: owner } = await addOrganization(server, await signIn(server))
    expect((await owner.post('/hub', { name: 'Second hub', lat: 48, lng: 11 })).status).toBe(201)
    expect((await owner.post('/team', { name: 'North' })).status).toBe(201)
    const timestamp = new Date().toISOString()
    let last: TestDevice | undefined
    for (let index = 20; index < 40; index++) {
      last = await createDevice(owner, `Van ${index}`)
      const points = [{ lat: 52.52, lng: 13.4, timestamp }]
      expect((await createClient(server, last.key).post('/location-history/bulk', { points })).status).toBe(
        200,
      )
    }
    const page = await screens.open('about:blank', { as: owner })
    const held: Route[] = []
    let isHeld = true
    await page.route(/api\/v3\/hubs/, route => (isHeld ? void held.push(route) : route.continue()))
    await page.goto(`${server.url}/?subject=${last?.id}`)
    const row = page.getByRole('option', { name: /^Van 39/ })
    const cutPx = () =>
      row.evaluate(one => {
        const rows = one.closest('.rows') as Element
        return one.getBoundingClientRect().bottom - rows.getBoundingClientRect().bottom
      })
    await until('the hubs are asked for', () => held.length > 0)
    await page.getByRole('complementary', { name: 'Van 39' }).waitFor()
    // No row is pushed away by a filter that comes later.
    expect(await row.count()).toBe(0)
    isHeld = false
    for (const route of held) await route.continue()
    const filters = page.locator('.list-filters > .field')
    await until('three filters are there', async () => (await filters.count()) === 3)
    await until('it is seen', async () => (await row.count()) === 1 && (await cutPx()) < 1)
  })
})
