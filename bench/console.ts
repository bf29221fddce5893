import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { findChromium } from '../test/services/chromium.ts'
import { residentMiB } from '../test/services/processes.ts'
import { quietMoment } from './cpu.ts'
import type { MoversOrder } from './load/movers.ts'
import { startGenerator } from './load/orders.ts'
import type { Options } from './options.ts'
import { count, median, ms, progress, type Row } from './report.ts'
import { type Server, signIn, startFieldline } from './server.ts'
import type { Tier } from './tiers.ts'

const FEW = 100
const HALF = 5_000
const MANY = 10_000
const MOVES_PER_SECOND = 4
/**
 * As many positions per second as `MANY`, from a tenth of the subjects: the data that a screen keeps for each grows ten
 * times as fast.
 */
const HURRIED = 1_000
const HURRIED_PER_SECOND = 40
const MINUTE_MS = 60_000
const CHOSEN_EVERY_MS = 1_000
const DAY_MS = 24 * 3_600_000
const CLICKS = 40
const BETWEEN_CLICKS_MS = 250
const SETTLE_MS = 3_000
const ROWS_IN_SIGHT = 10
const METER = fileURLToPath(new URL('load/in-page.js', import.meta.url))
/** A graphics card emulated by the processor: painting and composing the page wait for it, as the map does. */
const PLAYED_CARD = ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader']
/**
 * Chromium's default without a graphics card, which the goal means: only WebGL is emulated; everything else is software
 * rendering.
 */
const NO_CARD = ['--no-sandbox', '--enable-unsafe-swiftshader']

interface Watched {
  clicks: number[]
  framesPerSecond: number
  /** The page's own heap after a collection: at the beginning, and at the end of the window. */
  heapMb: [number, number]
}

/** Measures how responsive a screen with many moving subjects is. */
export async function benchConsole(tier: Tier, options: Options): Promise<Row[]> {
  const store = await tier.fresh()
  const server = await startFieldline(options, store)
  const found = await findChromium()
  if (!found.available) throw new Error(found.reason)
  const [browser, carded] = (await Promise.all(
    [NO_CARD, PLAYED_CARD].map(args => chromium.launch({ executablePath: found.executable, args })),
  )) as [Browser, Browser]
  try {
    const token = await signIn(server)
    const few: Watched[] = []
    const half: Watched[] = []
    const many: Watched[] = []
    const withCard: Watched[] = []
    for (let round = 1; round <= options.rounds; round++) {
      await quietMoment(options.patienceSeconds)
      few.push(await watchMovers(browser, server, token, FEW, options.seconds))
      half.push(await watchMovers(browser, server, token, HALF, options.seconds))
      many.push(await watchMovers(browser, server, token, MANY, options.seconds))
      withCard.push(await watchMovers(carded, server, token, MANY, options.seconds))
    }
    const left = options.minutes > 0 ? [await leaveOpen(browser, server, token, options.minutes)] : []
    const clicked = (rounds: readonly Watched[], share: number) =>
      median(rounds.map(({ clicks }) => quantile(clicks, share)))
    const p95 = (rounds: readonly Watched[]) => clicked(rounds, 0.95)
    const frames = (rounds: readonly Watched[]) => median(rounds.map(one => one.framesPerSecond))
    const heap = (at: 0 | 1) => median(many.map(({ heapMb }) => heapMb[at]))
    return [
      {
        figure: `console: from a click to its panel, 95 %, ${count(MANY)} moving four times a second`,
        ours: ms(p95(many)),
        beside: `${ms(p95(few))} with ${FEW}`,
        ratio: p95(many) / p95(few),
        goal: '100 ms, 2 times',
        note: `${ms(clicked(many, 0.5))} in the median; heap ${heap(0).toFixed(0)} MB, ${heap(1).toFixed(0)} MB ${options.seconds} s later`,
      },
      {
        figure: `console: the same with ${count(HALF)}`,
        ours: ms(p95(half)),
        beside: `${ms(p95(few))} with ${FEW}`,
        ratio: p95(half) / p95(few),
        goal: '100 ms',
        note: `${ms(clicked(half, 0.5))} in the median; ${frames(half).toFixed(0)} frames a second`,
      },
      {
        figure: 'console: the same with a graphics card that the processor plays',
        ours: ms(p95(withCard)),
        beside: `${ms(p95(many))} without`,
        ratio: p95(withCard) / p95(many),
        goal: '',
        note: `${ms(clicked(withCard, 0.5))} in the median; ${frames(withCard).toFixed(0)} frames a second`,
      },
      {
        figure: `console: frames a second while ${count(MANY)} move`,
        ours: frames(many).toFixed(0),
        beside: `${frames(few).toFixed(0)} with ${FEW}`,
        ratio: frames(many) / frames(few),
        goal: '',
      },
      ...left,
    ]
  } finally {
    await Promise.all([browser.close(), carded.close()])
    await server.stop().finally(() => store.remove())
  }
}

async function openPage(browser: Browser, url: string, token: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } })
  const session = JSON.stringify({ token, expiresAt: Date.now() + DAY_MS })
  if (token)
    await context.addInitScript(`localStorage.setItem('fieldline.session', ${JSON.stringify(session)})`)
  await context.addInitScript({ path: METER })
  const page = await context.newPage()
  await page.goto(url)
  return page
}

/** Runs a measurement on a page that shows moving subjects, and closes both afterwards. */
async function withMovers<Answer>(
  browser: Browser,
  token: string,
  order: MoversOrder,
  watch: (page: Page) => Promise<Answer>,
): Promise<Answer> {
  const movers = startGenerator<MoversOrder>(new URL('load/movers.ts', import.meta.url))
  const { port } = await movers.ask<{ port: number }>(order)
  const page = await openPage(browser, `http://127.0.0.1:${port}/`, token)
  try {
    await page.getByText(`${count(order.subjects)} on the map`).waitFor()
    await sleep(SETTLE_MS)
    return await watch(page)
  } finally {
    await page.context().close()
    await movers.end()
  }
}

function watchMovers(browser: Browser, server: Server, token: string, subjects: number, seconds: number) {
  const order = { upstream: server.url, subjects, movesPerSecond: MOVES_PER_SECOND }
  return withMovers(browser, token, order, async page => {
    const before = await heapMb(page)
    const framesPerSecond = await page.evaluate<number>(`meter.countFrames(${seconds * 1_000})`)
    const after = await heapMb(page)
    const clicks = await measureClicks(page)
    progress(
      `${count(subjects)} movers: a panel in ${ms(quantile(clicks, 0.5))} (50 %), ${ms(quantile(clicks, 0.95))} (95 %), ` +
        `${framesPerSecond.toFixed(1)} frames/s, heap ${before.toFixed(0)} to ${after.toFixed(0)} MB`,
    )
    return { clicks, framesPerSecond, heapMb: [before, after] } satisfies Watched
  })
}

/** Measures the memory of a screen that is left open while a user selects one subject after the other. */
function leaveOpen(browser: Browser, server: Server, token: string, minutes: number): Promise<Row> {
  const order = { upstream: server.url, subjects: HURRIED, movesPerSecond: HURRIED_PER_SECOND }
  return withMovers(browser, token, order, async page => {
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable')
    const look = async () => {
      const heap = await heapMb(page)
      const process = await processMiB(browser)
      const { metrics } = await session.send('Performance.getMetrics')
      const nodes = metrics.find(({ name }) => name === 'Nodes')?.value ?? 0
      const listeners = metrics.find(({ name }) => name === 'JSEventListeners')?.value ?? 0
      return { heap, process, nodes, listeners }
    }
    await page.getByRole('listbox').focus()
    const looks = [await look()]
    for (let minute = 1; minute <= minutes; minute++) {
      const end = performance.now() + MINUTE_MS
      while (performance.now() < end) {
        await page.keyboard.press('ArrowDown')
        await sleep(CHOSEN_EVERY_MS)
      }
      const { heap, process, nodes, listeners } = await look()
      looks.push({ heap, process, nodes, listeners })
      progress(
        `left open ${minute} min.: heap ${heap.toFixed(1)} MB of ${process.toFixed(0)} MiB in all, ${nodes} nodes, ${listeners} listeners`,
      )
    }
    const [first, last] = [looks[0], looks.at(-1)] as [(typeof looks)[number], (typeof looks)[number]]
    return {
      figure: `console: memory after ${minutes} minutes, ${count(HURRIED)} moving ${HURRIED_PER_SECOND} times a second`,
      ours: `${last.heap.toFixed(1)} MB`,
      beside: `${first.heap.toFixed(1)} MB at first`,
      ratio: last.heap / first.heap,
      goal: '',
      note: `${looks.map(({ heap }) => heap.toFixed(1)).join(', ')} MB; all of its process ${looks.map(({ process }) => process.toFixed(0)).join(', ')} MiB; ${last.nodes} nodes and ${last.listeners} listeners after ${first.nodes} and ${first.listeners}`,
    }
  })
}

/** The time from the browser's click event to the frame with the panel. */
async function measureClicks(page: Page): Promise<number[]> {
  const list = page.getByRole('listbox')
  const box = await list.boundingBox()
  if (!box) throw new Error('There is no list')
  const rowPx = (await list.getByRole('option').first().boundingBox())?.height ?? 44
  const times: number[] = []
  for (let click = 0; click < CLICKS; click++) {
    const row = (click * 3) % ROWS_IN_SIGHT
    await page.evaluate('meter.awaitClick()')
    await page.mouse.click(box.x + 80, box.y + (row + 0.5) * rowPx)
    times.push(await page.evaluate<number>('meter.shown'))
    await sleep(BETWEEN_CLICKS_MS)
  }
  return times
}

async function heapMb(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize / 1_000_000
}

/** The resident memory of the page's process in MiB, with its threads and graphics. */
async function processMiB(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  await session.detach()
  const resident = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => residentMiB(id))
  return Math.max(...resident)
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number
}
