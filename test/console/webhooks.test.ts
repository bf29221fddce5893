import { execFileSync, spawnSync } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { VERIFY_CODE } from '../../console/pages/settings/webhooks/verify-code.ts'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

describe('Webhooks in the console', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  const dialog = (page: Page) => page.getByRole('dialog')
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  it('are created with a secret that is shown once, say what was sent, and send it again', async () => {
    const page = await screens.open(`${server.url}/settings/webhooks`, { as: owner })
    await button(page, 'Create webhook').click()
    await dialog(page).getByLabel('Address').fill('http://127.0.0.1:9/hook')
    await dialog(page).getByText('A data record is created').click()
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await dialog(page)
      .getByText(/^whsec_/)
      .waitFor()
    await dialog(page).getByText('Verify the signature').click()
    expect(await findBarriersInThemes(page)).toEqual([])
    await button(page, 'Done').click()

    await owner.post('/data-type', {
      name: 'Customers',
      fields: [{ key: 'name', label: 'Name', type: 'text' }],
    })
    await owner.post('/data', { dataTypeName: 'Customers', data: { name: 'Ada' } })
    const [hook] = (await owner.get('/webhooks')).body.data
    const read = async () => (await owner.get(`/webhook/${hook._id}/deliveries`)).body.data
    await until('it has failed', async () => (await read())[0]?.status === 'failed')
    await page.getByRole('row', { name: /127\.0\.0\.1:9/ }).click()
    await page.getByRole('row', { name: /Failed/ }).click()
    await dialog(page).getByText('"name": "Ada"').waitFor()
    await dialog(page)
      .getByText(/^Attempt 1/)
      .waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await button(page, 'Send again').click()
    await until('there is a second attempt', async () => (await read())[0].attempts.length === 2)
    await dialog(page)
      .getByText(/^Attempt 2/)
      .waitFor()
    await button(page, 'Done').click()

    // A test shows its delivery at once.
    await button(page, 'Send a test').click()
    await dialog(page).getByText('"test": true').waitFor()
    await dialog(page)
      .getByText(/^Attempt 1/)
      .waitFor()
    expect((await read())[0]).toMatchObject({ event: 'webhook-test', status: 'failed' })
    await button(page, 'Done').click()

    await button(page, 'Edit webhook').click()
    await button(page, 'New secret').click()
    await dialog(page).getByRole('alert').getByRole('button', { name: 'New secret' }).click()
    await dialog(page)
      .getByText(/^whsec_/)
      .waitFor()
    await button(page, 'Done').click()
    await button(page, 'Edit webhook').click()
    await button(page, 'Delete').click()
    await dialog(page).getByRole('alert').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No webhooks yet').waitFor()
  })

  it('are not there for a planner', async () => {
    const planner = await addPerson(server, owner)
    const page = await screens.open(`${server.url}/settings/webhooks`, { as: planner.client })
    await page.getByText('Your role can’t see this part of the settings.').waitFor()
  })

  const PROGRAMS: Record<string, { command: string; file: string; end: string }> = {
    JavaScript: {
      command: process.execPath,
      file: 'verify.mjs',
      end: `
const [headers, body, secret] = JSON.parse(process.argv[2])
console.log(isGenuine(headers, Buffer.from(body), secret))`,
    },
    Python: {
      command: 'python3',
      file: 'verify.py',
      end: `
import json, sys
headers, body, secret = json.loads(sys.argv[1])
print(str(is_genuine(headers, body.encode(), secret)).lower())`,
    },
    PHP: {
      command: 'php',
      file: 'verify.php',
      end: `
[$headers, $body, $secret] = json_decode($argv[1], true);
echo isGenuine($headers, $body, $secret) ? 'true' : 'false';`,
    },
  }

  it.each(VERIFY_CODE)('are verified by the code in $language', ({ language, code }) => {
    const program = PROGRAMS[language.split(' ')[0] as string]
    if (!program) throw new Error(`There is no program for ${language}`)
    if (spawnSync(program.command, ['--version']).error) return
    const folder = mkdtempSync(join(tmpdir(), 'verify-'))
    writeFileSync(join(folder, program.file), `${code}\n${program.end}\n`)
    const key = randomBytes(32)
    const secret = `whsec_${key.toString('base64')}`
    const body = '{"name":"Ada \u00e9"}'
    const at = String(Math.floor(Date.now() / 1_000))
    const sign = (text: string) => createHmac('sha256', key).update(`msg_1.${at}.${text}`).digest('base64')
    const isGenuine = (signature: string, timestamp = at) => {
      const headers = {
        'webhook-id': 'msg_1',
        'webhook-timestamp': timestamp,
        'webhook-signature': signature,
      }
      const given = JSON.stringify([headers, body, secret])
      return (
        execFileSync(program.command, [join(folder, program.file), given])
          .toString()
          .trim() === 'true'
      )
    }
    expect(isGenuine(`v1,${sign(body)}`)).toBe(true)
    expect(isGenuine(`v1,${sign('another')} v1,${sign(body)}`)).toBe(true)
    expect(isGenuine(`v1,${sign('another')}`)).toBe(false)
    expect(isGenuine(`v1,${sign(body)}`, '1')).toBe(false)
  })
})
