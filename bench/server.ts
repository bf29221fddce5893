import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** A server that was started as its users start one. */
export interface Server {
  /** Without a path. */
  url: string
  mqtt: { host: string; port: number }
  pid: number
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

/** Which server is measured: a checkout that is built, and what Node is given to run it. */
export interface Checkout {
  root: string
  nodeArgs: string[]
}

/** Starts `dist/src/main.js` of the checkout on free ports. `env` names its data. */
export async function startFieldline(checkout: Checkout, env: Record<string, string>): Promise<Server> {
  const child = spawn(process.execPath, [...checkout.nodeArgs, join(checkout.root, 'dist/src/main.js')], {
    cwd: checkout.root,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      MQTT_PORT: '0',
      JWT_SECRET: 'a secret of the benchmark, long enough',
      FIELDLINE_OWNER_EMAIL: EMAIL,
      FIELDLINE_OWNER_PASSWORD: PASSWORD,
      RATE_LIMIT_PER_MINUTE: '0',
      MQTT_CONNECTIONS_PER_SECOND: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // It must not outlive a run that is interrupted.
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
      const match = /^fieldline ready (http:\S+) mqtt:\/\/(\S+):(\d+)$/m.exec(output)
      if (!match) return
      clearTimeout(timer)
      resolve(match)
    })
    child.once('exit', code => reject(new Error(`The server ended with ${code}: ${errors}`)))
  })
  const [, url = '', host = '', port] = await ready
  return {
    url,
    mqtt: { host, port: Number(port) },
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

/** Makes devices through the API. */
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

async function call<Answer>(server: Server, path: string, body: unknown, token?: string): Promise<Answer> {
  const response = await fetch(`${server.url}/api/v3${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Answer
}
