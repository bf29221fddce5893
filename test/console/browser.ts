import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core'
import { afterEach, beforeAll, beforeEach, expect, inject } from 'vitest'
import { freePort } from '../services/commands.ts'
import type { Client } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const SHOWN_WITHIN_MS = 60_000
/** Characters of a page that a failed test prints. */
const SHOWN_OF_FAILURE = 4_000
/** The graphics card is emulated for maps alone: the rest of the page is faster without. */
const SAID_OF_ITSELF = /^\[\.WebGL-\S+\]GL Driver Message .* GPU stall due to ReadPixels/
/** A server in a local network: over plain HTTP, and under another name than localhost, a browser withholds APIs. */
export const PLAIN_HOST = 'field.test'

export interface Look {
  /** The account that is already signed in. */
  as?: Client
  theme?: 'light' | 'dark'
  size?: { width: number; height: number }
  /** By default the English of Europe, with kilometres. */
  locale?: string
  /**
   * The browser saves data, the default: nothing is preloaded. Else a page loads and runs all parts of the console two seconds after
   * it opened, which takes more processor than to open it.
   */
  savesData?: boolean
  /**
   * `none`: this browser cannot draw maps, and the page says so. Opening one takes 0.7 instead of 2.4 s of processor.
   * `still`, the default: the map works, but its picture stays blank: 1.9 s. `drawn`: for tests that look at the picture.
   */
  map?: 'none' | 'still' | 'drawn'
  /** Errors that the browser may report: a server that is away. */
  mayFail?: RegExp
}

export interface Screens {
  /** Opens a page as a new visitor, or with an account that is signed in. */
  open(url: string, look?: Look): Promise<Page>
}

/** Modules live as long as their worker, which runs one test file after the other: all of them share its browser. */
let shared: Promise<Browser> | undefined

/**
 * Contexts that are free, by their permanent options. A used one has cached the files of the pages and compiled their
 * scripts: loading a table in it takes 0.63 instead of 0.79 s of processor.
 */
const idle = new Map<string, BrowserContext[]>()
/** Contexts with changes that the end of a test does not undo, such as an installed clock. */
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

/**
 * The worker's browser. `usual` are the options of pages for which a test names no others. A test during which the browser
 * reports an error fails.
 */
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
  afterEach(async ({ task }) => {
    const said = [...complaints]
    if (task.result?.state === 'fail') for (const { context } of used) await printPages(context)
    for (const { context, key } of used) {
      for (const page of context.pages()) await page.close()
      await context.clearCookies()
      if (changed.has(context)) await context.close()
      else idle.set(key, [...(idle.get(key) ?? []), context])
    }
    used = []
    // What a page says while it is closed is no fault of the next test.
    complaints = []
    expect(said).toEqual([])
  })

  return {
    async open(url, look) {
      const {
        as,
        theme = 'light',
        size,
        locale = 'en-150',
        savesData = true,
        map = 'still',
        mayFail,
      } = { ...usual, ...look }
      const key = `${theme} ${locale} ${map} ${savesData}`
      const context =
        idle.get(key)?.pop() ?? (await createContext(browser, { theme, locale, map, savesData }))
      used.push({ context, key })
      const page = await context.newPage()
      hideOrganization(page)
      await page.addInitScript(begin, as && { token: as.token, expiresAt: Date.now() + 8 * 3_600_000 })
      if (size) await page.setViewportSize(size)
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

/** Most failures of a page are seen at one look at it. */
async function printPages(context: BrowserContext): Promise<void> {
  for (const page of context.pages()) {
    const shown = await page
      .locator('body')
      .ariaSnapshot({ timeout: 5_000 })
      .catch(error => String(error))
    console.log(
      `When the test failed, ${page.url()} showed:\n${shown.replace(/^ *- \/url: .*\n/gm, '').slice(0, SHOWN_OF_FAILURE)}`,
    )
  }
}

/** Every address begins with the organization (`/o/<organization>/tasks`): tests compare the part after it. */
const withinOrganization = (url: string) =>
  url.replace(/\/o\/[\da-f-]{36}(?=\/|$|\?|#)/, '').replace(/(\/\/[^/?#]+)(?=$|[?#])/, '$1/')

/** Lets a page report its address without the organization. */
export function hideOrganization(page: Page): void {
  const { url, waitForURL } = page
  page.url = () => withinOrganization(url.call(page))
  page.waitForURL = (wanted, options) =>
    waitForURL.call(
      page,
      there => {
        const address = withinOrganization(there.href)
        if (typeof wanted === 'function') return wanted(new URL(address))
        if (wanted instanceof RegExp) return wanted.test(address)
        return (
          typeof wanted === 'string' &&
          (wanted.startsWith('**') ? address.endsWith(wanted.slice(2)) : address === new URL(wanted).href)
        )
      },
      options,
    )
}

async function createContext(
  browser: Browser,
  { theme, locale, map, savesData }: Required<Pick<Look, 'theme' | 'locale' | 'map' | 'savesData'>>,
): Promise<BrowserContext> {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width: 1_120, height: 700 },
    locale,
    permissions: ['clipboard-read', 'clipboard-write'],
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(SHOWN_WITHIN_MS)
  if (savesData) await context.addInitScript(saveData)
  if (map === 'none') await context.addInitScript(refuseMaps)
  if (map === 'still') await context.addInitScript(keepMapsBlank)
  noteChanges(context, context, ['addInitScript', 'route', 'routeWebSocket', 'setOffline'])
  noteChanges(context, context.clock, ['install'])
  return context
}

/** Marks a context as changed when one of these methods is called. */
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

/** The storage of a new page: empty, or with a session as after signing in. */
function begin(session: object | undefined): void {
  // Only once, so that signing out lasts.
  if (!location.protocol.startsWith('http') || sessionStorage.getItem('begun')) return
  sessionStorage.setItem('begun', 'yes')
  localStorage.clear()
  if (session) localStorage.setItem('fieldline.session', JSON.stringify(session))
}

function saveData(): void {
  Object.defineProperty(navigator, 'connection', { value: { saveData: true } })
}

function refuseMaps(): void {
  const { getContext } = HTMLCanvasElement.prototype
  Object.assign(HTMLCanvasElement.prototype, {
    getContext(this: HTMLCanvasElement, kind: string, options?: unknown) {
      return kind.startsWith('webgl') ? null : getContext.call(this, kind, options)
    },
  })
}

/** Chromium emulates the graphics card on the processor: a third of the cost of a map. */
function keepMapsBlank(): void {
  const skip = () => {}
  Object.assign(WebGL2RenderingContext.prototype, { drawArrays: skip, drawElements: skip, clear: skip })
}

/** The rules whose findings depend on the theme: the elements, their names and their roles are the same in both. */
const OF_COLOR = ['color-contrast', 'link-in-text-block']

/** Accessibility violations by axe's rules, all of them unless named: `color-contrast: .hint`. */
export async function findBarriers(page: Page, rules?: string[]): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  return page.evaluate(async runOnly => {
    const { axe } = globalThis as unknown as {
      axe: {
        _audit: { rules: { id: string; impact: string }[] }
        run(
          options: object,
        ): Promise<{ violations: { id: string; impact: string; nodes: { target: string[] }[] }[] }>
      }
    }
    const isGrave = ({ impact }: { impact: string }) => impact === 'serious' || impact === 'critical'
    // A rule has one impact, so those that find nothing grave need not run.
    const light = axe._audit.rules.filter(rule => !isGrave(rule)).map(({ id }) => [id, { enabled: false }])
    const { violations } = await axe.run({
      resultTypes: ['violations'],
      // Without preloading axe sends no requests of its own, which would fail where a test has killed the server.
      preload: false,
      ...(runOnly ? { runOnly } : { rules: Object.fromEntries(light) }),
    })
    return violations
      .filter(isGrave)
      .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
  }, rules)
}

/** Violations in the light and in the dark theme. The page is loaded once and changes the theme while it is open. */
export async function findBarriersInThemes(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme })
    // The page applies it before the next frame.
    await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))
    const barriers = await findBarriers(page, theme === 'dark' ? OF_COLOR : undefined)
    for (const barrier of barriers) found.push(`${theme} ${barrier}`)
  }
  return found
}

/**
 * Presses a key several times without a pause, whatever the machine: the effects of one press are complete before the next.
 */
export const pressAtOnce = (page: Page, key: string, times: number) =>
  page.evaluate(
    async ([key, times]) => {
      for (let press = 0; press < times; press++)
        await document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
    },
    [key, times] as const,
  )

/**
 * Presses a copy button, and waits for its confirmation, for pages that may not read the clipboard. The page itself looks for it,
 * as it lasts only two seconds.
 */
export async function copyBy(within: Locator, name: string): Promise<void> {
  const button = within.getByRole('button', { name, exact: true })
  const confirming = await button.evaluateHandle(one => ({
    said: new Promise<void>(done => {
      new MutationObserver(() => {
        if ((one.ariaLabel ?? one.textContent) === 'Copied') done()
      }).observe(one, { attributes: true, childList: true, characterData: true, subtree: true })
    }),
  }))
  await button.click()
  await confirming.evaluate(({ said }) => said)
}

/** Presses a copy button, and returns what it has copied: the browser writes it a moment after the press. */
export async function copiedBy(within: Locator, name: string): Promise<string> {
  const page = within.page()
  await page.evaluate(() => navigator.clipboard.writeText(''))
  await within.getByRole('button', { name, exact: true }).click()
  let text = ''
  await until('something is copied', async () => {
    text = await page.evaluate(() => navigator.clipboard.readText())
    return text !== ''
  })
  return text
}

/** Waits until an element with this name or text has the focus. */
export async function hasFocus(page: Page, text: string): Promise<void> {
  let focused = { said: '', element: '' }
  await until(
    () => `the focus is on ${text}, not on ${focused.element} "${focused.said}"`,
    async () => {
      focused = await page.evaluate(() => {
        const { activeElement } = document
        const { ariaLabel = null, textContent = '', localName, className } = activeElement ?? document.body
        return { said: ariaLabel ?? textContent ?? '', element: `${localName}.${className}` }
      })
      return focused.said === text
    },
  )
}

/** A server that can be killed and restarted under the same address. */
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
