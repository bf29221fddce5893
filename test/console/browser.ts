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
  /**
   * `none`: this browser cannot draw maps, and the page says so: to open one takes 0.7 instead of 2.4 s of processor. `still`, the usual:
   * the map is there and answers, but its picture stays blank: 1.9 s. `drawn`: for tests that look at the picture.
   */
  map?: 'none' | 'still' | 'drawn'
  /** What the browser may complain about: a server that is away. */
  mayFail?: RegExp
}

export interface Screens {
  /** Opens a page as a person who has never been here, or who is signed in. */
  open(url: string, look?: Look): Promise<Page>
}

/** Modules live as long as their worker, which runs one test file after the other: its browser serves all of them. */
let shared: Promise<Browser> | undefined

/**
 * Contexts that no test uses now, by what one has for as long as it lives. One that has loaded the pages before has their files, and their
 * scripts compiled: loading a table in it takes 0.63 instead of 0.79 s of processor.
 */
const idle = new Map<string, BrowserContext[]>()
/** Contexts in which a test did what its end does not undo, such as to install a clock. */
const changed = new WeakSet<BrowserContext>()

async function launch(executablePath: string): Promise<Browser> {
  const args = [
    '--no-sandbox',
    '--enable-unsafe-swiftshader',
    `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`,
  ]
  idle.clear()
  return chromium.launch({ executablePath, args })
}

/** The worker's browser, in which pages look as `usual` says where a test says nothing else. A test in which it complains about anything fails. */
export function useBrowser(usual: Look = {}): Screens {
  const found = inject('chromium')
  let browser: Browser
  let used: { context: BrowserContext; key: string }[] = []
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
    for (const { context, key } of used) {
      for (const page of context.pages()) await page.close()
      await context.clearCookies()
      if (changed.has(context)) await context.close()
      else idle.set(key, [...(idle.get(key) ?? []), context])
    }
    used = []
    expect(said).toEqual([])
  })

  return {
    async open(url, look) {
      const {
        as,
        theme = 'light',
        size,
        locale = 'en-150',
        savesData,
        map = 'still',
        mayFail,
      } = { ...usual, ...look }
      const key = `${theme} ${locale} ${map}`
      const context = idle.get(key)?.pop() ?? (await createContext(browser, { theme, locale, map }))
      used.push({ context, key })
      const page = await context.newPage()
      await page.addInitScript(begin, as && { token: as.token, expiresAt: Date.now() + 3_600_000 })
      if (size) await page.setViewportSize(size)
      if (savesData)
        await page.addInitScript(() => {
          Object.defineProperty(navigator, 'connection', { value: { saveData: true } })
        })
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

async function createContext(
  browser: Browser,
  { theme, locale, map }: Required<Pick<Look, 'theme' | 'locale' | 'map'>>,
): Promise<BrowserContext> {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width: 1_120, height: 700 },
    locale,
    permissions: ['clipboard-read', 'clipboard-write'],
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(SHOWN_WITHIN_MS)
  if (map === 'none') await context.addInitScript(refuseMaps)
  if (map === 'still') await context.addInitScript(keepMapsBlank)
  noteChanges(context, context, ['addInitScript', 'route', 'routeWebSocket', 'setOffline'])
  noteChanges(context, context.clock, ['install'])
  return context
}

/** Notes that a context is changed when one of these methods is called. */
function noteChanges<Owner extends object>(
  context: BrowserContext,
  owner: Owner,
  methods: (keyof Owner & string)[],
): void {
  for (const name of methods) {
    const method = owner[name] as (...values: unknown[]) => unknown
    const noting = (...values: unknown[]) => {
      changed.add(context)
      return method.apply(owner, values)
    }
    Object.assign(owner, { [name]: noting })
  }
}

/** What a page finds that is opened in a browser: nothing that another left there, and, as after signing in, a session. */
function begin(session: object | undefined): void {
  // Once, so that whoever signs out stays out.
  if (!location.protocol.startsWith('http') || sessionStorage.getItem('begun')) return
  sessionStorage.setItem('begun', 'yes')
  localStorage.clear()
  if (session) localStorage.setItem('fieldline.session', JSON.stringify(session))
}

function refuseMaps(): void {
  const { getContext } = HTMLCanvasElement.prototype
  Object.assign(HTMLCanvasElement.prototype, {
    getContext(this: HTMLCanvasElement, kind: string, options?: unknown) {
      return kind.startsWith('webgl') ? null : getContext.call(this, kind, options)
    },
  })
}

/** Chromium plays the graphics card by the processor: a third of what a map costs. */
function keepMapsBlank(): void {
  const skip = () => {}
  Object.assign(WebGL2RenderingContext.prototype, { drawArrays: skip, drawElements: skip, clear: skip })
}

/** What is in the way of somebody, by axe's rules: `color-contrast: .hint`. */
export async function findBarriers(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(
          options: object,
        ): Promise<{ violations: { id: string; impact: string; nodes: { target: string[] }[] }[] }>
      }
    }
    const { violations } = await axe.run({ resultTypes: ['violations'] })
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
  })
}

/** What is in the way in the light and in the dark theme, to which the page changes while it is open: it is loaded once. */
export async function findBarriersInThemes(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme })
    // A page hears of it before the next frame.
    await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))
    for (const barrier of await findBarriers(page)) found.push(`${theme} ${barrier}`)
  }
  return found
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
