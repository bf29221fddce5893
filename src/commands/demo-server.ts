import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { PROJECT } from '../../db/folders.ts'
import { CommandError } from './command.ts'
import type { DemoOptions } from './demo-options.ts'

/** The server of the demo: a process of its own with a directory of its own, on this machine alone. */
export interface DemoServer {
  url: string
  mqttUrl: string
  email: string
  password: string
  /** Resolves to a sentence when the server ends by itself. */
  ended: Promise<string>
  stop(): Promise<void>
}

/** The demo's notes in its directory, by which it knows the directory again. */
interface Notes {
  password: string
  /** The demo that was started last, and its address. */
  pid: number
  url: string
}

const NOTES = 'demo.json'
const LOG = 'server.log'
const HOST = '127.0.0.1'
const EMAIL = 'owner@example.com'
const STOP_WITHIN_MS = 20_000
/** The last lines of the log that a failure shows. */
const KEPT_LINES = 3

export async function startDemoServer({ dataDir, port, mqttPort }: DemoOptions): Promise<DemoServer> {
  const directory = resolve(dataDir)
  const shown = relative('', directory) || '.'
  const before = readNotes(directory, shown)
  if (before && (await isRunning(before))) {
    throw new CommandError(
      before.url === ''
        ? `The demo in ${shown} is being started by another command.`
        : `The demo in ${shown} is running already: open ${before.url}, and sign in as ${EMAIL} with the password ${before.password}.`,
    )
  }
  await requireFree(port, '--port')
  await requireFree(mqttPort, '--mqtt-port')
  const password = before?.password ?? randomBytes(9).toString('base64url')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const keep = (url: string) =>
    writeFileSync(join(directory, NOTES), JSON.stringify({ password, pid: process.pid, url }), {
      mode: 0o600,
    })
  keep('')

  const server = spawn(process.execPath, [join(PROJECT, 'dist/server/src/main.js')], {
    // The server gets none of its variables from this shell, because they may name another database.
    env: {
      ...Object.fromEntries(
        ['PATH', 'HOME', 'TMPDIR', 'TZ', 'SystemRoot'].map(name => [name, process.env[name]]),
      ),
      ...{ HOST, PORT: `${port}`, MQTT_PORT: `${mqttPort}`, DATA_DIR: directory, DRAIN_SECONDS: '0' },
      FIELDLINE_OWNER_EMAIL: EMAIL,
      FIELDLINE_OWNER_PASSWORD: password,
      FIELDLINE_ORGANIZATION: 'Bay Deliveries',
    },
    stdio: ['ignore', 'pipe', openSync(join(directory, LOG), 'a', 0o600)],
    // A process group of its own: Ctrl-C is for the demo, which ends its trackers before the server.
    detached: true,
  })
  const ended = new Promise<string>(resolve => {
    server.on('error', error => resolve(error.message))
    server.on('exit', () => resolve(describeEnd(directory, shown)))
  })
  const { url, mqttUrl } = await Promise.race([
    readAddresses(server),
    ended.then(sentence => {
      throw new CommandError(sentence)
    }),
  ])
  keep(url)
  return { url, mqttUrl, email: EMAIL, password, ended, stop: () => stopServer(server) }
}

/** Null for a directory that is not there or empty. Throws for one that is not the demo's. */
function readNotes(directory: string, shown: string): Notes | null {
  if (!existsSync(directory) || readdirSync(directory).length === 0) return null
  try {
    return JSON.parse(readFileSync(join(directory, NOTES), 'utf8')) as Notes
  } catch {
    throw new CommandError(
      `${shown} holds other files than those of a demo. Choose another directory with --data, and leave this one as it is.`,
    )
  }
}

/** Whether the process lives and its server answers: another program may have its number by now. */
async function isRunning({ pid, url }: Notes): Promise<boolean> {
  try {
    process.kill(pid, 0)
    return url === '' || (await fetch(`${url}/health`)).ok
  } catch {
    return false
  }
}

async function requireFree(port: number, option: string): Promise<void> {
  const probe = createServer()
  const failure = await new Promise<NodeJS.ErrnoException | null>(resolve => {
    probe.once('error', resolve)
    probe.listen(port, HOST, () => resolve(null))
  })
  await new Promise(resolve => probe.close(resolve))
  if (failure?.code === 'EADDRINUSE')
    throw new CommandError(
      `Port ${port} is taken by another program. Give the demo another one with ${option}, such as ${option} ${port + 1}.`,
    )
  if (failure) throw new CommandError(`Port ${port} cannot be opened: ${failure.message}.`)
}

function readAddresses(server: ChildProcess): Promise<{ url: string; mqttUrl: string }> {
  const lines = createInterface({ input: server.stdout as NodeJS.ReadableStream })
  return new Promise(resolve => {
    lines.on('line', line => {
      const [, url, mqttUrl] = /^fieldline ready (\S+) (\S+)$/.exec(line) ?? []
      if (url && mqttUrl) resolve({ url, mqttUrl })
    })
  })
}

/** Why the server ended, from the end of its log. */
function describeEnd(directory: string, shown: string): string {
  const log = readFileSync(join(directory, LOG), 'utf8').trim().split('\n')
  const [last = ''] = log.slice(-1)
  const [, cause] = /^fieldline cannot start: (.+)$/.exec(last) ?? []
  if (cause === undefined)
    return `The server has ended. The end of ${join(shown, LOG)}:\n${log.slice(-KEPT_LINES).join('\n')}`
  const isOther = /another release|newer|files of PostgreSQL|other files than a database/.test(cause)
  return isOther
    ? `The data in ${shown} are of another version of Fieldline (${cause}). Delete the directory to begin anew, or choose another with --data.`
    : `The server cannot start: ${cause}`
}

async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const exited = new Promise(resolve => server.once('exit', resolve))
  server.kill('SIGTERM')
  const late = setTimeout(() => server.kill('SIGKILL'), STOP_WITHIN_MS)
  await exited
  clearTimeout(late)
}
