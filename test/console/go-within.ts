import type { Page, Request } from 'playwright-core'
import { until } from '../support/wait.ts'

/** A page that has asked for nothing during this time has what it needs. */
const QUIET_MS = 150
/** A page that always draws is never idle. */
const IDLE_WITHIN_MS = 1_000

/** The part of an address that says which page of the console it is. */
const pageOf = (path: string) => /^(?:\/o\/[^/?]+)?(\/settings\/[^/?]+|\/?[^/?]*)/.exec(path)?.[1] || '/'

/** Whether the page at the address of the bar is drawn: until then the navigation shows the one before as the current one. */
async function isDrawn(page: Page): Promise<boolean> {
  const links = await page
    .locator('nav a[href]')
    .evaluateAll(all =>
      all.map(one => ({ path: (one as HTMLAnchorElement).pathname, current: one.ariaCurrent })),
    )
  const here = pageOf(new URL(page.url()).pathname)
  const own = links.filter(({ path }) => pageOf(path) === here)
  return own.length === 0 || own.some(({ current }) => current === 'page')
}

/** What has come is drawn, and what the page needs for that next is asked for: on a slow machine that takes longer than a quiet time. */
const hasNothingToDo = (page: Page) =>
  page.evaluate(
    limitMs => new Promise<void>(done => requestIdleCallback(() => done(), { timeout: limitMs })),
    IDLE_WITHIN_MS,
  )

/**
 * Goes to an address by the page's own router, as a link does, and waits until everything there is loaded. The page itself stays:
 * to load it takes 0.6 s of processor.
 */
export async function goWithin(page: Page, address: string): Promise<void> {
  const asked = new Set<Request>()
  const begin = (request: Request) => void asked.add(request)
  const end = (request: Request) => void asked.delete(request)
  page.on('request', begin).on('requestfinished', end).on('requestfailed', end)
  await until('the page that is left is drawn', () => isDrawn(page))
  const isAnother = pageOf(new URL(page.url()).pathname) !== pageOf(address)
  const title = await page.title()
  await page.evaluate(address => {
    const organization = /^\/o\/[^/]+/.exec(location.pathname)?.[0] ?? ''
    const state = { idx: (history.state?.idx ?? 0) + 1 }
    history.pushState(state, '', organization + address)
    dispatchEvent(new PopStateEvent('popstate', { state }))
  }, address)
  // A page that is still to be loaded is not seen at once, and until then the one before stays.
  if (isAnother) await until(`the title of ${address} is there`, async () => (await page.title()) !== title)
  const busy = page.locator('[aria-busy="true"]')
  let since = Number.POSITIVE_INFINITY
  await until('everything is loaded', async () => {
    await hasNothingToDo(page)
    const isQuiet = asked.size === 0 && (await busy.count()) === 0
    since = isQuiet ? Math.min(since, Date.now()) : Number.POSITIVE_INFINITY
    return Date.now() - since > QUIET_MS
  })
  page.off('request', begin).off('requestfinished', end).off('requestfailed', end)
}
