import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type Page } from 'playwright-core'
import { findChromium } from '../test/services/chromium.ts'
import { residentMiB } from '../test/services/processes.ts'
import { until } from '../test/support/wait.ts'
import { quietMoment } from './cpu.ts'
import type { Options } from './options.ts'
import { median, progress, type Row, seconds } from './report.ts'

const METER = fileURLToPath(new URL('load/in-page.js', import.meta.url))
const MAX_MS = 300_000
const FRAMES_MS = 10_000
/** MapLibre draws each letter of a street's name once, so a map with streets has drawn many. */
const LETTERS = 12

interface Minute {
  /** From the command to the line with the address, to a moving vehicle between drawn streets, and to all of the history. */
  addressMs: number
  movingMs: number
  historyMs: number
  /** While the history is written. */
  framesPerSecond: number
  /** The server's memory, when the history is there. */
  memoryMiB: number
}

/** Measures how long a newcomer waits: `npm run demo` with an empty directory, seen in a browser. */
export async function benchFirstMinute({ root, rounds, patienceSeconds }: Options): Promise<Row[]> {
  const minutes: Minute[] = []
  for (let round = 1; round <= rounds; round++) {
    await quietMoment(patienceSeconds)
    const minute = await lookAtDemo(root)
    progress(JSON.stringify(minute))
    minutes.push(minute)
  }
  const of = (key: keyof Minute) => median(minutes.map(minute => minute[key]))
  return [
    {
      figure: 'first minute: from `npm run demo` to a moving vehicle on a drawn street',
      ours: seconds(of('movingMs')),
      beside: `${seconds(of('addressMs'))} to the address`,
      goal: '20 s',
      note: `${of('framesPerSecond').toFixed(0)} frames a second while the history is written, software rendering`,
    },
    {
      figure: 'first minute: from `npm run demo` to two weeks of history',
      ours: seconds(of('historyMs')),
      beside: '',
      goal: '60 s',
      note: `${of('memoryMiB').toFixed(0)} MiB of the server then`,
    },
  ]
}

async function lookAtDemo(root: string): Promise<Minute> {
  const found = await findChromium()
  if (!found.available) throw new Error(found.reason)
  const args = ['--no-sandbox', '--enable-unsafe-swiftshader']
  const browser = await chromium.launch({ executablePath: found.executable, args })
  const data = mkdtempSync(join(tmpdir(), 'fieldline-first-minute-'))
  const begun = performance.now()
  const demo = startDemo(root, data)
  try {
    await demo.says(/with the password (\S+)/)
    const addressMs = performance.now() - begun
    const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } })
    await page.addInitScript({ path: METER })
    await page.addInitScript('meter.noteLetters()')
    const history = demo.says(/history are there/).then(() => performance.now() - begun)
    await signIn(page, demo.output())
    const moving = page.getByRole('option').filter({ hasText: /\d (km\/h|mph)/ })
    await moving.first().waitFor({ timeout: MAX_MS })
    await until(
      'streets are drawn',
      async () => (await page.evaluate<number>('meter.letters.size')) > LETTERS,
    )
    const movingMs = performance.now() - begun
    const framesPerSecond = await page.evaluate<number>(`meter.countFrames(${FRAMES_MS})`)
    const historyMs = await history
    return { addressMs, movingMs, historyMs, framesPerSecond, memoryMiB: memoryOf(demo.child) }
  } finally {
    await browser.close()
    demo.child.kill('SIGINT')
    await once(demo.child, 'close')
    rmSync(data, { recursive: true, force: true })
  }
}

function startDemo(root: string, data: string) {
  const program = join(root, 'dist/src/commands/demo.js')
  const args = [program, '--data', data, '--port', '0', '--mqtt-port', '0']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', chunk => {
    output += chunk
  })
  const says = (text: RegExp) => until(String(text), () => text.test(output), MAX_MS)
  return { child, says, output: () => output }
}

async function signIn(page: Page, output: string): Promise<void> {
  const [, url = '', email = '', password = ''] =
    /Open +(\S+)\s+Sign in +(\S+), with the password (\S+)/.exec(output) ?? []
  await page.goto(url)
  await page.locator('input[name=email]').fill(email)
  await page.locator('input[name=password]').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** The demo and the server that it has started (proc(5)). */
function memoryOf({ pid = 0 }: ChildProcess): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
  return Math.max(...children.map(residentMiB))
}
