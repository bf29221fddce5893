import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { residentMiB } from '../test/services/processes.ts'
import { isStored } from '../test/support/figures.ts'

/** A server started as in production: one process, or one for each role. */
export interface Server {
  /** The URL of the interface, without a path. */
  url: string
  /** The URL for points over HTTP. */
  ingestUrl: string
  /** The URL for live sockets. */
  liveUrl: string
  mqtt: { host: string; port: number }
  pids: readonly number[]
  /** Resolves when everything acknowledged is stored. */
  stored(): Promise<void>
  /** Ends it in order. */
  stop(): Promise<void>
}

export interface Device {
  id: string
  key: string
}

const EMAIL = 'bench@example.com'
const PASSWORD = 'bench-bench-bench'
const START_MS = 120_000
const LOOK_MS = 50

/** The measured server: a built checkout, and the arguments of Node to run it. */
export interface Checkout {
  root: string
  nodeArgs: string[]
}

/**
 * The environment of a server with its data, and the ROLES of each of its processes; an empty list is one process with
 * all.
 */
export interface Place {
  env: Record<string, string>
  roles: readonly string[]
}

/** Starts the program of the checkout's `npm start` on free ports, once for each of the roles. */
export async function startFieldline(checkout: Checkout, { env, roles }: Place): Promise<Server> {
  if (roles.length === 0) {
    const { url, mqtt, pid, stop } = await startProcess(checkout, env)
    return {
      url,
      ingestUrl: url,
      liveUrl: toLiveUrl(url),
      mqtt: mqtt as Server['mqtt'],
      pids: [pid],
      stored: async () => {},
      stop,
    }
  }
  const processes = await Promise.all(roles.map(ROLES => startProcess(checkout, { ...env, ROLES })))
  const having = (role: string) => processes[roles.findIndex(some => some.includes(role))] as Process
  const { url: ingestUrl, mqtt } = having('ingest')
  return {
    url: having('api').url,
    ingestUrl,
    liveUrl: toLiveUrl(having('live').url),
    mqtt: mqtt as Server['mqtt'],
    pids: processes.map(({ pid }) => pid),
    async stored() {
      while (!(await isStored({ url: ingestUrl }))) await sleep(LOOK_MS)
    },
    async stop() {
      for (const { stop } of processes) await stop()
    },
  }
}

const toLiveUrl = (url: string) => `${url.replace('http', 'ws')}/api/v3/live`

interface Process {
  url: string
  /** Undefined without the role ingest. */
  mqtt: Server['mqtt'] | undefined
  pid: number
  stop(): Promise<void>
}

async function startProcess(checkout: Checkout, env: Record<string, string>): Promise<Process> {
  const { scripts } = JSON.parse(readFileSync(join(checkout.root, 'package.json'), 'utf8'))
  const program = join(checkout.root, scripts.start.replace('node ', ''))
  const child = spawn(process.execPath, [...checkout.nodeArgs, program], {
    cwd: checkout.root,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      MQTT_PORT: '0',
      JWT_SECRET: 'a secret of the benchmark, long enough',
      FIELDLINE_OWNER_EMAIL: EMAIL,
      FIELDLINE_OWNER_PASSWORD: PASSWORD,
      RATE_LIMIT_PER_MINUTE: '0',
      LIVE_SOCKETS_PER_USER: '0',
      MQTT_CONNECTIONS_PER_SECOND: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // An interrupted run must not leave it behind.
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  let errors = ''
  child.stderr.setEncoding('utf8')
  child.stderr.on('data', (chunk: string) => {
    errors = (errors + chunk).slice(-4000)
  })
  let output = ''
  child.stdout.setEncoding('utf8')
  const ready = new Promise<RegExpExecArray>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`The server is not ready after ${START_MS} ms`)),
      START_MS,
    )
    child.stdout.on('data', (chunk: string) => {
      output += chunk
      const match = /^fieldline ready (http:\S+)(?: mqtt:\/\/(\S+):(\d+))?$/m.exec(output)
      if (!match) return
      clearTimeout(timer)
      resolve(match)
    })
    child.once('exit', code => reject(new Error(`The server ended with ${code}: ${errors}`)))
  })
  const [, url = '', host, port] = await ready
  return {
    url,
    mqtt: host === undefined ? undefined : { host, port: Number(port) },
    pid: child.pid as number,
    async stop() {
      process.off('exit', end)
      if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}: ${errors}`)
      child.kill('SIGTERM')
      const [code] = await once(child, 'exit')
      if (code !== 0) throw new Error(`The server stopped with ${code}: ${errors}`)
    },
  }
}

/** The bearer token of the first account. */
export async function signIn(server: Server): Promise<string> {
  const answer = await call<{ token: string }>(server, '/auth/login', { email: EMAIL, password: PASSWORD })
  return answer.token
}

/** Creates devices through the API. */
export async function makeDevices(server: Server, count: number): Promise<Device[]> {
  const token = await signIn(server)
  const devices: Device[] = []
  for (let number = 1; number <= count; number++) {
    const made = await call<{ data: { _id: string; key: string } }>(
      server,
      '/device',
      { name: `Tracker ${number}` },
      token,
    )
    devices.push({ id: made.data._id, key: made.data.key })
  }
  return devices
}

/** Sends a POST, and returns the answer. */
export async function call<Answer>(
  server: Server,
  path: string,
  body: unknown,
  token?: string,
): Promise<Answer> {
  const response = await fetch(`${server.url}/api/v3${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Answer
}

/** Sends a GET, and returns the answer. */
export async function get<Answer>(server: Server, path: string, token: string): Promise<Answer> {
  const response = await fetch(`${server.url}/api/v3${path}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Answer
}

/** The peak memory of the server's processes, in MiB. */
export const peakMiB = ({ pids }: Server): number =>
  pids.reduce((sum, pid) => {
    const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return sum + Number(kib) / 1024
  }, 0)

/** The resident memory of all its processes. */
export const residentBytes = ({ pids }: Server): number =>
  pids.reduce((sum, pid) => sum + residentMiB(pid), 0) * 1024 ** 2
