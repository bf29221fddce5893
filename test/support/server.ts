import { ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { Writable } from 'node:stream'
import { readEnv, toConfig } from '../../src/config.ts'
import { readRelease } from '../../src/http/release.ts'
import { createLogger } from '../../src/logger.ts'
import { openProcess } from '../../src/open.ts'
import { freePort } from '../services/commands.ts'
import { lend, type TestDatabase } from './database.ts'
import { forgetSent, searchLog } from './log-search.ts'

const MAIN = resolve(import.meta.dirname, '../../dist/server/src/main.js')
const READY_WITHIN_MS = 120_000

export const OWNER = { email: 'owner@example.com', password: 'correct horse battery' }

/** A server that tests call. */
export interface Server {
  url: string
  mqttPort: number
  /** Its output to standard output and standard error so far. */
  output: { stdout: string; stderr: string }
  /** An orderly end. Returns the exit code. */
  stop(): Promise<number | null>
}

/** A server as a user starts it: the compiled program in a process of its own. */
export interface ServerProcess extends Server {
  pid: number
  /** Throws if it had ended by itself. */
  kill9(): Promise<void>
}

const running = new Map<unknown, Server['output']>()
/** The logs of all servers, and how much of each was searched. */
const logs = new Map<Server['output'], number>()

/** Searches what servers have written since the last call for what no log may hold. */
export function searchLogs(): { servers: number; findings: string[] } {
  const findings = [...logs].flatMap(([{ stderr }, from]) => searchLog(stderr.slice(from)))
  const servers = logs.size
  logs.clear()
  forgetSent()
  for (const output of running.values()) logs.set(output, output.stderr.length)
  return { servers, findings }
}

/** The outputs of the running servers, for a failed test. */
export const outputsOfRunning = () => [...running.values()]

/** Kills the processes that a failed test has left: a worker is ended by a signal, after which it does nothing more. */
export function killLeft(): void {
  for (const one of running.keys()) if (one instanceof ChildProcess) one.kill('SIGKILL')
}

export const isRunning = ({ output }: Server) => outputsOfRunning().includes(output)

/**
 * Opens a server in the test's own process, on free ports. It costs a quarter of `startServer`, which is needed by
 * tests that kill a server, freeze it, or measure its processor time or memory.
 */
export async function openServer(database: TestDatabase, env: Record<string, string> = {}): Promise<Server> {
  const output = { stdout: '', stderr: '' }
  logs.set(output, 0)
  const log = new Writable({
    write(chunk, _encoding, done) {
      output.stderr += chunk
      done()
    },
  })
  const logger = createLogger('info', log)
  const id = {}
  const { opened, close } = openProcess(toConfig(readEnv(serverEnv(database, env))), {
    logger,
    release: readRelease(),
    onLost(error) {
      logger.fatal({ err: error }, 'The process cannot go on')
      running.delete(id)
    },
  })
  const { url, mqttPort } = await opened
  running.set(id, output)
  const giveBack = lend(database)
  return {
    url,
    mqttPort: mqttPort ?? 0,
    output,
    async stop() {
      running.delete(id)
      await close()
      giveBack()
      return 0
    },
  }
}

/** Starts the compiled program in a separate process, on free ports. */
export async function startServer(
  database: TestDatabase,
  env: Record<string, string> = {},
  limits: Limits = {},
): Promise<ServerProcess> {
  // A test that kills it may start another one on its ports.
  const ports = { PORT: `${await freePort()}`, MQTT_PORT: `${await freePort()}` }
  const child = spawnServer(database, { ...ports, ...env }, limits)
  const output = collect(child)
  const ready = await new Promise<RegExpExecArray>((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`Not ready in time\n${output.stderr}`)), READY_WITHIN_MS)
    child.stdout?.on('data', () => {
      const match = /fieldline ready (http:\S+)(?: mqtt:\/\/\S+:(\d+))?/.exec(output.stdout)
      if (!match) return
      clearTimeout(timer)
      done(match)
    })
    child.once('exit', code => {
      clearTimeout(timer)
      fail(new Error(`Ended with ${code} before it was ready\n${output.stderr}`))
    })
  })
  running.set(child, output)
  const giveBack = lend(database)
  child.once('exit', () => {
    running.delete(child)
    giveBack()
  })
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
    // At its exit not all of its output may have been read.
    const closed = once(child, 'close')
    child.kill(signal)
    const [code] = (await closed) as [number | null]
    return code
  }
  return {
    url: ready[1] as string,
    mqttPort: Number(ready[2]),
    pid: child.pid as number,
    output,
    stop: () => end('SIGTERM'),
    async kill9() {
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`It had ended by itself with ${child.exitCode}\n${output.stderr.slice(-2_000)}`)
      }
      await end('SIGKILL')
    },
  }
}

/** Starts a server whose start must fail. Returns its exit code and its output. */
export async function startRefused(
  database: TestDatabase,
  env: Record<string, string> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawnServer(database, env)
  const output = collect(child)
  // A server that starts all the same would never end.
  child.stdout?.on('data', () => {
    if (output.stdout.includes('fieldline ready')) child.kill('SIGKILL')
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  if (signal) throw new Error(`It was not refused\n${output.stdout}${output.stderr}`)
  return { code, ...output }
}

/** Starts a server whose start waits for something. */
export function spawnWaiting(
  database: TestDatabase,
  env: Record<string, string>,
): { output: Server['output']; kill(signal?: NodeJS.Signals): Promise<number | null> } {
  const child = spawnServer(database, env)
  const output = collect(child)
  return {
    output,
    async kill(signal = 'SIGKILL') {
      const closed = once(child, 'close')
      child.kill(signal)
      const [code] = (await closed) as [number | null]
      return code
    },
  }
}

/** The environment of a server under test. */
function serverEnv(database: TestDatabase, env: Record<string, string>): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    PORT: '0',
    MQTT_PORT: '0',
    // All requests of a test file come from one address.
    RATE_LIMIT_PER_MINUTE: '0',
    DATA_DIR: database.dataDir,
    FIELDLINE_OWNER_EMAIL: OWNER.email,
    FIELDLINE_OWNER_PASSWORD: OWNER.password,
    ...(database.url ? { DATABASE_URL: database.url, JWT_SECRET: 'a secret of thirty-two characters' } : {}),
    ...env,
  }
}

/** The limits of the process, by default those of the test's own, and its program, by default this one's. */
interface Limits {
  descriptors?: number
  /** The main file of another release. */
  main?: string
}

function spawnServer(
  database: TestDatabase,
  env: Record<string, string>,
  { descriptors, main = MAIN }: Limits = {},
): ChildProcess {
  const { PATH, HOME } = process.env
  const limited = descriptors === undefined ? '' : `ulimit -n ${descriptors}; `
  const child = spawn('/bin/sh', ['-c', `${limited}exec "$@"`, 'sh', process.execPath, main], {
    env: { PATH, HOME, ...serverEnv(database, env) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  return child
}

function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: '', stderr: '' }
  logs.set(output, 0)
  child.stdout?.on('data', chunk => {
    output.stdout += chunk
  })
  child.stderr?.on('data', chunk => {
    output.stderr += chunk
  })
  return output
}
