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
  /** The tracking link of an earlier run, which may have ended since. */
  readLink(): KeptLink | undefined
  keepLink(link: KeptLink): void
  /** Resolves to a sentence when the server ends by itself. */
  ended: Promise<string>
  stop(): Promise<void>
}

/** The secret of a tracking link is shown once, so the demo keeps it for its next run. */
interface KeptLink {
  deviceId: string
  token: string
}

/** The demo's notes in its directory, by which it knows the directory again. */
interface Notes {
  password: string
  /** The demo that was started last, and its address. */
  pid: number
  url: string
  /** The process of its server, which outlives a demo that was killed. */
  serverPid?: number | undefined
  link?: KeptLink
}

const NOTES = 'demo.json'
const LOG = 'server.log'
const HOST = '127.0.0.1'
const EMAIL = 'owner@example.com'
const STOP_WITHIN_MS = 20_000
const ANSWER_WITHIN_MS = 5_000
/** The last lines of the log that a failure shows. */
const KEPT_LINES = 3

export async function startDemoServer({ dataDir, port, mqttPort }: DemoOptions): Promise<DemoServer> {
  const directory = resolve(dataDir)
  const here = relative('', directory) || '.'
  const shown = here.startsWith('..') ? directory : here
  const before = readNotes(directory, shown)
  if (before && (await isRunning(before))) {
    throw new CommandError(
      before.url === ''
        ? `The demo in ${shown} is being started by another command.`
        : `The demo in ${shown} is running already: open ${before.url}, and sign in as ${EMAIL} with the password ${before.password}.`,
    )
  }
  if (before?.serverPid && (await isRunning({ pid: before.serverPid, url: before.url })))
    throw new CommandError(
      `The server of the last demo in ${shown} still runs. End its process ${before.serverPid}, and start the demo again.`,
    )
  await requireFree(port, '--port')
  await requireFree(mqttPort, '--mqtt-port')
  const password = before?.password ?? randomBytes(9).toString('base64url')
  let notes: Notes = { ...before, password, pid: process.pid, url: '', serverPid: undefined }
  const keep = (changed: Partial<Notes>) => {
    notes = { ...notes, ...changed }
    writeFileSync(join(directory, NOTES), JSON.stringify(notes), { mode: 0o600 })
  }
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    keep({})
  } catch (error) {
    throw new CommandError(
      `${shown} cannot be written (${(error as NodeJS.ErrnoException).code}). Choose another directory with --data.`,
    )
  }

  const server = spawn(process.execPath, [join(PROJECT, 'dist/server/src/main.js')], {
    // The server gets none of its variables from this shell, because they may name another database.
    env: {
      ...Object.fromEntries(
        ['PATH', 'HOME', 'TMPDIR', 'TZ', 'SystemRoot'].map(name => [name, process.env[name]]),
      ),
      ...{ HOST, PORT: `${port}`, MQTT_PORT: `${mqttPort}`, DATA_DIR: directory, DRAIN_SECONDS: '0' },
      // For glibc: without it threads that compile and copy keep 40 to 60 MB that nobody uses.
      MALLOC_ARENA_MAX: '2',
      FIELDLINE_OWNER_EMAIL: EMAIL,
      FIELDLINE_OWNER_PASSWORD: password,
      FIELDLINE_ORGANIZATION: 'Bay Deliveries',
    },
    stdio: ['ignore', 'pipe', openSync(join(directory, LOG), 'a', 0o600)],
    // A process group of its own: Ctrl-C is for the demo, which ends its trackers before the server.
    detached: true,
  })
  // A second Ctrl-C, or a reader of the output that has gone, ends the demo at once.
  process.once('exit', () => server.kill('SIGTERM'))
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
  keep({ url, serverPid: server.pid })
  return {
    ...{ url, mqttUrl, email: EMAIL, password, ended },
    readLink: () => notes.link,
    keepLink: link => keep({ link }),
    stop: () => stopServer(server),
  }
}

/** Null for a directory that is not there or empty. Throws for one that is not the demo's. */
function readNotes(directory: string, shown: string): Notes | null {
  if (!existsSync(directory)) return null
  try {
    if (readdirSync(directory).length === 0) return null
    return JSON.parse(readFileSync(join(directory, NOTES), 'utf8')) as Notes
  } catch {
    throw new CommandError(
      `${shown} holds other files than those of a demo. Choose another directory with --data, and leave this one as it is.`,
    )
  }
}

/** Whether the process lives and its server answers: another program may have its number by now. */
async function isRunning({ pid, url }: Pick<Notes, 'pid' | 'url'>): Promise<boolean> {
  try {
    process.kill(pid, 0)
    return url === '' || (await fetch(`${url}/health`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) })).ok
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
    ? `The data in ${shown} are of another version of Fieldline. Delete the directory to begin anew, or choose another with --data.`
    : `The server cannot start: ${withOptions(cause)}`
}

/** The demo has options in place of the variables of the environment that a reason names. */
const withOptions = (cause: string): string =>
  cause
    .replace(/^DATA_DIR /, '')
    .replace(
      /(give this one another DATA_DIR|set DATA_DIR to another one)/,
      'choose another directory with --data',
    )
    .replace(/set PORT to another port/, 'choose another port with --port')
    .replace(/set MQTT_PORT to another port/, 'choose another port with --mqtt-port')

async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const exited = new Promise(resolve => server.once('exit', resolve))
  server.kill('SIGTERM')
  const late = setTimeout(() => server.kill('SIGKILL'), STOP_WITHIN_MS)
  await exited
  clearTimeout(late)
}
