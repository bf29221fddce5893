import { parseArgs } from 'node:util'
import { usageError } from './command.ts'
import { TRACES, type TraceName } from './traces.ts'

/** Signs in with an account or with a token. */
export type Credential =
  | { token: string }
  /** Without an organization it is the one that the account used last. */
  | { email: string; password: string; organizationId?: string }

export interface WatchOptions {
  url: string
  credential: Credential
}

export interface SimulateOptions extends WatchOptions {
  mqttUrl: string
  devices: number
  pointsPerSecond: number
  /** Undefined means the streets of San Francisco. */
  trace: TraceName | undefined
  /** Whether the drivers get tasks. */
  day: boolean
  /** Undefined means until Ctrl-C. */
  durationS: number | undefined
}

type Env = Readonly<Record<string, string | undefined>>

const SERVER_OPTIONS = {
  url: { type: 'string', default: 'http://127.0.0.1:3000' },
  email: { type: 'string' },
  password: { type: 'string' },
  token: { type: 'string' },
  organization: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

const SERVER_HELP = `  --url <address>      the server                        (http://127.0.0.1:3000)
  --email <address>    who signs in                      (owner@example.com)
  --password <text>    the password                      (FIELDLINE_OWNER_PASSWORD)
  --token <token>      an API key, or a user's token, in place of e-mail and password
  --organization <id>  which of the account's          (the one that it used last)`

export const SIMULATE_HELP = `A fleet that drives through San Francisco and reports over MQTT.

  npm run simulate -- [options]

${SERVER_HELP}
  --mqtt <address>     where the devices connect         (mqtt:// on the server's host, port 1883)
  --devices <number>   how many                          (20)
  --rate <number>      points per second and device      (1; 0.1 is one every 10 s)
  --trace <name>       replay the recorded tracks of real buses in its place: ${Object.keys(TRACES).join(' or ')}
  --day                a working day: drivers, users of their own, accept tasks, drive there, complete most and
                       fail some; whoever signs in has to be allowed to invite users
  --duration <seconds> when to stop                      (Ctrl-C)

Each device has the name of its vehicle. A device of that name that is there already is used again: it gets a
new key, and whoever used the old one is disconnected.`

export const WATCH_HELP = `Live positions in the terminal, one line each.

  npm run watch -- [options]

${SERVER_HELP}`

/** The options of `simulate`, or null for --help. Throws a usage error that names the wrong option. */
export function readSimulateOptions(args: string[], env: Env): SimulateOptions | null {
  const options = {
    ...SERVER_OPTIONS,
    mqtt: { type: 'string' },
    devices: { type: 'string', default: '20' },
    rate: { type: 'string', default: '1' },
    trace: { type: 'string' },
    day: { type: 'boolean', default: false },
    duration: { type: 'string' },
  } as const
  const values = parse(() => parseArgs({ args, options }).values)
  if (values.help) return null
  const url = readUrl('--url', values.url, ['http:', 'https:'])
  if (values.trace !== undefined && !Object.hasOwn(TRACES, values.trace)) {
    throw usageError(`There is no trace "${values.trace}"; there are ${Object.keys(TRACES).join(' and ')}.`)
  }
  return {
    url,
    mqttUrl: readUrl('--mqtt', values.mqtt ?? `mqtt://${new URL(url).hostname}:1883`, [
      'mqtt:',
      'mqtts:',
      'ws:',
      'wss:',
    ]),
    devices: readNumber('--devices', values.devices, { min: 1, max: 20_000, whole: true }),
    pointsPerSecond: readNumber('--rate', values.rate, { min: 0.001, max: 100 }),
    trace: values.trace as TraceName | undefined,
    day: values.day,
    durationS:
      values.duration === undefined
        ? undefined
        : readNumber('--duration', values.duration, { min: 1, max: 1e6 }),
    credential: readCredential(values, env),
  }
}

/** The options of `watch`, or null for --help. Throws a usage error that names the wrong option. */
export function readWatchOptions(args: string[], env: Env): WatchOptions | null {
  const values = parse(() => parseArgs({ args, options: SERVER_OPTIONS }).values)
  if (values.help) return null
  return {
    url: readUrl('--url', values.url, ['http:', 'https:']),
    credential: readCredential(values, env),
  }
}

function parse<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    // The first sentence is for people; the rest explains how to pass the text as a file name.
    if (error instanceof TypeError) throw usageError(`${error.message.split('. ')[0]}.`)
    throw error
  }
}

/** Removes slashes at the end. */
function readUrl(name: string, text: string, protocols: string[]): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url?.hostname || !protocols.includes(url.protocol)) {
    const starts = protocols.map(protocol => `${protocol}//`).join(' or ')
    throw usageError(`${name} has to be an address that starts with ${starts}, it is "${text}".`)
  }
  return text.replace(/\/+$/, '')
}

function readNumber(
  name: string,
  text: string,
  { min, max, whole = false }: { min: number; max: number; whole?: boolean },
): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value
  throw usageError(
    `${name} has to be a ${whole ? 'whole ' : ''}number from ${min} to ${max}, it is "${text}".`,
  )
}

function readCredential(
  values: { email?: string; password?: string; token?: string; organization?: string },
  env: Env,
): Credential {
  if (values.token !== undefined) {
    if (values.token.trim() === '') throw usageError('--token is empty.')
    if (values.organization !== undefined)
      throw usageError('A token belongs to one organization: leave --organization out.')
    return { token: values.token.trim() }
  }
  const password = values.password ?? env.FIELDLINE_OWNER_PASSWORD
  if (!password) {
    throw usageError(
      'A password is needed: give --password, or set FIELDLINE_OWNER_PASSWORD. The server prints it at its first start.',
    )
  }
  return {
    email: values.email ?? env.FIELDLINE_OWNER_EMAIL ?? 'owner@example.com',
    password,
    ...(values.organization !== undefined && { organizationId: values.organization }),
  }
}
