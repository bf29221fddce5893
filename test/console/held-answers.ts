import type { Page, Request, Route } from 'playwright-core'
import { until } from '../support/wait.ts'

/** A page that has asked for nothing during this time has what it needs. */
const QUIET_MS = 150

interface HeldAnswers {
  /**
   * Goes to an address by the page's own router, and gives it one answer after the other: always the one that it asked for last,
   * so that what stands above comes after what stands below. Returns the buttons, links and fields that have moved meanwhile.
   * What is read again by time, or by a timer, is seen where `isWhole` waits for it.
   */
  goTo(address: string, isWhole?: (page: Page) => Promise<boolean>): Promise<string[]>
}

/** Holds every answer of the interface to this page back. */
export async function holdAnswers(page: Page): Promise<HeldAnswers> {
  const held: Route[] = []
  const asked = new Set<Request>()
  const end = (request: Request) => void asked.delete(request)
  page.on('request', request => void asked.add(request))
  page.on('requestfinished', end).on('requestfailed', end)
  await page.route(
    ({ pathname }) => pathname.startsWith('/api/v3/') && !pathname.startsWith('/api/v3/docs'),
    route => void held.push(route),
  )
  const passLast = async (): Promise<void> => {
    const route = held.pop()
    if (!route) return
    // The page may have given the request up.
    await route.continue().catch(() => {})
    await until('the answer has come', () => !asked.has(route.request()))
  }
  /** Goes on until the page has asked for nothing for a while. */
  const pass = async (isWhole: () => Promise<boolean>, quietMs: number): Promise<string[]> => {
    const moved: string[] = []
    let since = Number.POSITIVE_INFINITY
    await until('everything is loaded', async () => {
      for (const request of asked) if (request.failure()) asked.delete(request)
      for (let index = held.length - 1; index >= 0; index--)
        if (held[index]?.request().failure()) held.splice(index, 1)
      // A part of the page that is still to be loaded will ask as well.
      if (asked.size > held.length) return false
      moved.push(...(await page.evaluate(compare)))
      if (asked.size > held.length) return false
      if (held.length > 0) {
        await passLast()
        since = Number.POSITIVE_INFINITY
        return false
      }
      since = (await isWhole()) ? Math.min(since, Date.now()) : Number.POSITIVE_INFINITY
      return Date.now() - since >= quietMs
    })
    return moved
  }
  const go = async (
    address: string,
    isWhole: () => Promise<boolean>,
    quietMs = QUIET_MS,
  ): Promise<string[]> => {
    const title = await page.title()
    await page.evaluate(show, address)
    return pass(async () => (await page.title()) !== title && (await isWhole()), quietMs)
  }
  return {
    async goTo(address, isWhole = async () => true) {
      await go('/nothing', async () => true, 0)
      await page.evaluate(forget)
      return go(address, () => isWhole(page))
    },
  }
}

function show(address: string): void {
  const organization = /^\/o\/[^/]+/.exec(location.pathname)?.[0] ?? ''
  const state = { idx: (history.state?.idx ?? 0) + 1 }
  history.pushState(state, '', organization + address)
  dispatchEvent(new PopStateEvent('popstate', { state }))
}

/** Whatever the page has read that is not shown now is read again. */
function forget(): void {
  interface Fiber {
    memoizedProps: { client?: { removeQueries?(filters: object): void } } | null
    child: Fiber | null
    sibling: Fiber | null
  }
  const root = document.querySelector('#root') as unknown as Record<string, Fiber>
  const waiting = [root[Object.keys(root).find(key => key.startsWith('__reactContainer')) ?? '']]
  for (let fiber = waiting.pop(); fiber; fiber = waiting.pop()) {
    const client = fiber.memoizedProps?.client
    if (client?.removeQueries) {
      client.removeQueries({ type: 'inactive' })
      return
    }
    if (fiber.sibling) waiting.push(fiber.sibling)
    if (fiber.child) waiting.push(fiber.child)
  }
  throw new Error('The page has no memory of what it has read')
}

/** What has moved since the last call, which remembers the place of everything that can be pressed. */
async function compare(): Promise<string[]> {
  /** Rounding, and the width of a digit that changes. */
  const MOVED_PX = 4
  const IDLE_WITHIN_MS = 1_000
  await new Promise<void>(done => requestIdleCallback(() => done(), { timeout: IDLE_WITHIN_MS }))
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
  const store = globalThis as unknown as { places?: Map<Element, DOMRect> }
  const before = store.places
  const moved: string[] = []
  store.places = new Map()
  const isOpen = document.querySelector('.modal') !== null
  for (const one of document.querySelectorAll(
    'a[href], button, input, select, textarea, summary, [role="button"]',
  )) {
    if (one.matches(':disabled') || !one.checkVisibility({ visibilityProperty: true })) continue
    // A dialog lies over everything else.
    if (isOpen && !one.closest('.modal')) continue
    const now = one.getBoundingClientRect()
    if (now.width < 2 || now.height < 2) continue
    store.places.set(one, now)
    const was = before?.get(one)
    if (!was) continue
    // One that grows at one side stays where it is pressed.
    const away = (from: number, to: number, fromEnd: number, toEnd: number) =>
      Math.abs(from - to) < Math.abs(fromEnd - toEnd) ? from - to : fromEnd - toEnd
    const [x, y] = [
      Math.round(away(now.left, was.left, now.right, was.right)),
      Math.round(away(now.top, was.top, now.bottom, was.bottom)),
    ]
    if (Math.max(Math.abs(x), Math.abs(y)) <= MOVED_PX) continue
    const name = (one.ariaLabel || one.textContent || one.getAttribute('name') || one.id || '').trim()
    moved.push(`${one.localName} “${name.slice(0, 40)}” by ${x}, ${y} px`)
  }
  return moved
}
