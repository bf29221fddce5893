import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, chromium, type Page } from 'playwright-core'
import { findChromium } from '../services/chromium.ts'
import { run } from '../services/commands.ts'
import { requireExecutable } from '../services/debian.ts'
import { createClient } from '../support/client.ts'
import { until } from '../support/wait.ts'

// `npm run pictures`: takes every picture of docs/console/ from the running demo, so that they can be taken again.

const ROOT = resolve(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'docs/console')
const WIDE = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 700 }
/** The moving picture: frames at a size that a page shows without scaling. */
const MOVING = { size: { width: 960, height: 600 }, frames: 48, everyMs: 250, quality: 55 }
const MAX_BYTES = 3 * 1024 ** 2
/** Until tiles, letters and the camera have come to rest. */
const SETTLED_MS = 6_000
const DAY_MS = 24 * 3_600_000

interface Demo {
  url: string
  password: string
  /** The address of the tracking link. */
  link: string
  process: ChildProcess
}
interface Named {
  _id: string
  name: string
  isSample: boolean
}

async function startDemo(data: string): Promise<Demo> {
  const program = join(ROOT, 'dist/src/commands/demo.js')
  const args = [program, '--data', data, '--port', '0', '--mqtt-port', '0']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', chunk => {
    output += chunk
    process.stdout.write(chunk)
  })
  await until('the history', () => output.includes('history are there') && output.includes('link'), 600_000)
  const [, url = '', password = ''] = /Open +(\S+)\s+Sign in +\S+, with the password (\S+)/.exec(output) ?? []
  return { url, password, link: /gets: (\S+)/.exec(output)?.[1] ?? '', process: child }
}

/** A page of somebody who is signed in already, at an address of the console. */
async function open(
  browser: Browser,
  address: string,
  { token, size = WIDE, theme = 'light' }: { token?: string; size?: typeof WIDE; theme?: 'light' | 'dark' },
): Promise<Page> {
  const context = await browser.newContext({ viewport: size, colorScheme: theme, locale: 'en-US' })
  const page = await context.newPage()
  if (token !== undefined) {
    const session = JSON.stringify(JSON.stringify({ token, expiresAt: Date.now() + DAY_MS / 3 }))
    await page.addInitScript({ content: `localStorage.setItem('fieldline.session', ${session})` })
  }
  await page.goto(address)
  return page
}

async function main(): Promise<void> {
  const found = await findChromium()
  if ('reason' in found) throw new Error(found.reason)
  await requireExecutable('img2webp', ['webp'], 'install the tools of libwebp')
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-pictures-'))
  const demo = await startDemo(join(folder, 'data'))
  const browser = await chromium.launch({
    executablePath: found.executable,
    args: ['--no-sandbox', '--enable-unsafe-swiftshader'],
  })
  try {
    await takeAll(browser, demo, folder)
  } finally {
    await browser.close()
    demo.process.kill('SIGINT')
    await once(demo.process, 'close')
    rmSync(folder, { recursive: true, force: true })
  }
}

async function takeAll(browser: Browser, { url, password, link }: Demo, folder: string): Promise<void> {
  const visitor = createClient({ url }, '')
  const { token } = (await visitor.post('/auth/login', { email: 'owner@example.com', password })).body
  const client = createClient({ url }, token)
  const list = async (path: string): Promise<Named[]> => (await client.get(`${path}?limit=500`)).body.data
  const device = (await list('/devices')).find(({ name }) => name === 'Tracker Bayview 2') as Named
  const fence = (await list('/geofences')).find(({ name }) => name === 'Bayview depot') as Named
  const subject = `/?subject=${device._id}`
  const day = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10)

  const take = async (
    name: string,
    address: string,
    look: Omit<Parameters<typeof open>[2], 'token'> = {},
  ) => {
    const page = await open(browser, address, { token, ...look })
    await sleep(SETTLED_MS)
    await page.screenshot({ path: join(FOLDER, `${name}.png`) })
    await page.context().close()
    process.stdout.write(`${name}.png\n`)
  }
  await take('live-map', url + subject)
  await take('live-map-dark', url + subject, { theme: 'dark' })
  await take('geofence', `${url}/?fence=${fence._id}`)
  await take('playback', `${url}/playback?subject=device:${device._id}&day=${day}`)
  await take('track-phone', link, { size: PHONE })
  await take('interface', `${url}/api/v3/docs#postLocationHistoryBulk`)

  const page = await open(browser, `${url}/devices/new`, { token })
  await page.locator('input[name=name]').fill('Van 12')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Waiting for the first position').waitFor()
  await sleep(1_000)
  await page.screenshot({ path: join(FOLDER, 'setup.png') })
  await page.context().close()

  await film(await open(browser, `${url}${subject}&follow=true`, { token, size: MOVING.size }), folder)
}

/** A vehicle that is followed, as an animated WebP. */
async function film(page: Page, folder: string): Promise<void> {
  await sleep(SETTLED_MS)
  const frames: string[] = []
  const begun = performance.now()
  for (let frame = 0; frame < MOVING.frames; frame++) {
    await sleep(Math.max(0, begun + frame * MOVING.everyMs - performance.now()))
    const path = join(folder, `frame-${String(frame).padStart(3, '0')}.png`)
    await page.screenshot({ path })
    frames.push(path)
  }
  // On a slow machine a picture takes longer than its turn: the film runs as fast as the vehicle did.
  const delay = Math.round((performance.now() - begun) / MOVING.frames)
  const output = join(FOLDER, 'follow.webp')
  const options = ['-lossy', '-q', `${MOVING.quality}`, '-d', `${delay}`, '-loop', '0']
  await run('img2webp', [...options, ...frames, '-o', output])
  const { size } = statSync(output)
  if (size > MAX_BYTES) throw new Error(`${output} has ${size} bytes`)
  process.stdout.write(`follow.webp: ${size} bytes, a picture every ${delay} ms\n`)
}

await main()
