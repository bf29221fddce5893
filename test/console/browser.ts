import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core'
import { afterEach, beforeAll, beforeEach, expect, inject } from 'vitest'
import { freePort } from '../services/commands.ts'
import type { Client } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')
const SHOWN_WITHIN_MS = 60_000
/** Chromium plays the graphics card for maps alone, and reads back what they drew: the page as a whole is quicker without. */
const SAID_OF_ITSELF = /^\[\.WebGL-\S+\]GL Driver Message .* GPU stall due to ReadPixels/
/** A server of a local network: over plain HTTP, and not of this machine by its name, a browser holds back interfaces. */
export const PLAIN_HOST = 'field.test'

export interface Look {
  /** Who is signed in already. */
  as?: Client
  theme?: 'light' | 'dark'
  size?: { width: number; height: number }
  /** Usually the English of Europe, with kilometres. */
  locale?: string
  /** Data is dear: nothing is loaded before it is opened. */
  savesData?: boolean
  /** What the browser may complain about: a server that is away. */
  mayFail?: RegExp
}

export interface Screens {
  /** Opens a page as a person who has never been here, or who is signed in. */
  open(url: string, look?: Look): Promise<Page>
}

/** Modules live as long as their worker, which runs one test file after the other: its browser serves all of them. */
let shared: Promise<Browser> | undefined

function launch(executablePath: string): Promise<Browser> {
  const args = [
    '--no-sandbox',
    '--enable-unsafe-swiftshader',
    `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`,
  ]
  return chromium.launch({ executablePath, args })
}

/** The worker's browser. A test in which it complains about anything fails. */
export function useBrowser(): Screens {
  const found = inject('chromium')
  let browser: Browser
  let contexts: BrowserContext[] = []
  let complaints: string[] = []

  beforeAll(async () => {
    if ('reason' in found) return
    shared ??= launch(found.executable)
    browser = await shared
    if (browser.isConnected()) return
    shared = launch(found.executable)
    browser = await shared
  })
  beforeEach(context => {
    if ('reason' in found) context.skip(found.reason)
  })
  afterEach(async () => {
    const said = complaints
    complaints = []
    for (const context of contexts) await context.close()
    contexts = []
    expect(said).toEqual([])
  })

  return {
    async open(url, { as, theme = 'light', size, locale = 'en-150', savesData, mayFail } = {}) {
      const context = await browser.newContext({
        colorScheme: theme,
        viewport: size ?? { width: 1_120, height: 700 },
        locale,
        permissions: ['clipboard-read', 'clipboard-write'],
        reducedMotion: 'reduce',
      })
      contexts.push(context)
      context.setDefaultTimeout(SHOWN_WITHIN_MS)
      if (as) await signInBrowser(context, as)
      if (savesData)
        await context.addInitScript(() => {
          Object.defineProperty(navigator, 'connection', { value: { saveData: true } })
        })
      const page = await context.newPage()
      const complain = (text: string) => {
        if (!mayFail?.test(text) && !SAID_OF_ITSELF.test(text)) complaints.push(text)
      }
      page.on('console', message => {
        if (message.type() === 'error' || message.type() === 'warning') {
          complain(`${message.text()} ${message.location().url}`)
        }
      })
      page.on('pageerror', error => complain(String(error.stack)))
      await page.goto(url)
      return page
    },
  }
}

/** As after signing in: once, so that whoever signs out stays out. */
async function signInBrowser(context: BrowserContext, { token }: Client): Promise<void> {
  await context.addInitScript(
    session => {
      if (sessionStorage.getItem('signed-in')) return
      sessionStorage.setItem('signed-in', 'yes')
      localStorage.setItem('fieldline.session', session)
    },
    JSON.stringify({ token, expiresAt: Date.now() + 3_600_000 }),
  )
}

/** What is in the way of somebody, by axe's rules: `color-contrast: .hint`. */
export async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { target: string[] }[] }[] }> }
    }
    const { violations } = await axe.run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
  })
}

/** Presses a key some times without a pause, whatever the machine: what follows from one is done before the next. */
export const pressAtOnce = (page: Page, key: string, times: number) =>
  page.evaluate(
    async ([key, times]) => {
      for (let press = 0; press < times; press++)
        await document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
    },
    [key, times] as const,
  )

/** Presses a button that copies, and waits until it says so, which it does for two seconds. */
export async function copyBy(within: Locator, name: string): Promise<void> {
  const said = within.getByRole('button', { name: 'Copied' }).waitFor()
  await within.getByRole('button', { name, exact: true }).click()
  await said
}

/** Until what has this name, or these words, has the focus. */
export const hasFocus = (page: Page, text: string) =>
  until(`the focus is on ${text}`, async () => {
    const said = await page.evaluate(() => {
      const { ariaLabel = null, textContent = '' } = document.activeElement ?? {}
      return ariaLabel ?? textContent ?? ''
    })
    return said === text
  })

/** A server that may be killed and comes back under the same address. */
export async function startLastingServer(): Promise<{
  server: () => ServerProcess
  restart(): Promise<void>
  remove(): Promise<void>
}> {
  const database: TestDatabase = await createTestDatabase(usualKind())
  const env = { PORT: String(await freePort()), MQTT_PORT: String(await freePort()) }
  let server = await startServer(database, env)
  return {
    server: () => server,
    async restart() {
      server = await startServer(database, env)
    },
    async remove() {
      await server.stop()
      await database.remove()
    },
  }
}
