import WebSocket from 'ws'
import type { Server } from './server.ts'

export interface Seen {
  subjectId: string
  name: string
  lat: number
  lng: number
  timestamp: string
  state: string
}

/** A screen like that of a dispatcher's page: the newest position of each subject, and the cursor to resume with. */
export interface TestScreen {
  positions: Map<string, Seen>
  cursor: string | null
  snapshots: number
  /** How often a subject was shown at an earlier time than before. */
  backwards: number
  /** Messages of type error. */
  errors: string[]
  messages: { type: string }[]
  /** The code and reason of its close. */
  closed: Promise<{ code: number; reason: string }>
  send(message: unknown): void
  /** Stops and resumes reading from the socket. */
  pause(): void
  resume(): void
  /** Cuts the connection silently. */
  cut(): void
}

/** Opens a live socket and subscribes; `resume` continues from the state of a former screen. */
export async function openScreen(
  server: { url: string },
  token: string,
  options: { filter?: object; resume?: TestScreen; subprotocol?: boolean } = {},
): Promise<TestScreen> {
  const { resume, filter } = options
  const url = `${server.url.replace('http', 'ws')}/api/v3/live`
  const socket = options.subprotocol
    ? new WebSocket(url, ['bearer', token])
    : new WebSocket(url, { headers: { authorization: `Bearer ${token}` } })
  const screen: TestScreen = {
    positions: new Map(resume?.positions),
    cursor: resume?.cursor ?? null,
    snapshots: 0,
    backwards: 0,
    errors: [],
    messages: [],
    closed: new Promise(done => socket.on('close', (code, reason) => done({ code, reason: String(reason) }))),
    send: message => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    cut: () => socket.terminate(),
  }
  const first = new Promise<void>((done, fail) => {
    socket.on('message', data => {
      const message = JSON.parse(String(data))
      screen.messages.push(message)
      if (message.type === 'snapshot') {
        screen.snapshots++
        screen.positions.clear()
      }
      for (const position of message.positions ?? []) {
        if (position.timestamp < (screen.positions.get(position.subjectId)?.timestamp ?? ''))
          screen.backwards++
        screen.positions.set(position.subjectId, position)
      }
      for (const subjectId of message.subjectIds ?? []) screen.positions.delete(subjectId)
      if (message.type === 'error') screen.errors.push(message.message)
      if (message.cursor) screen.cursor = message.cursor
      done()
    })
    socket.on('error', fail)
    socket.on('close', code => fail(new Error(`Closed with ${code}`)))
  })
  first.catch(() => {})
  await new Promise<void>((done, fail) => {
    socket.once('open', done)
    socket.once('error', fail)
    socket.once('unexpected-response', (_request, response) => {
      socket.terminate()
      fail(new Error(`HTTP ${response.statusCode}`))
    })
  })
  screen.send({ type: 'subscribe', filter, since: screen.cursor })
  await first
  return screen
}

/** The status of a socket's upgrade request: 101 if it is open. */
export function upgradeStatus(socket: WebSocket): Promise<number> {
  socket.on('error', () => {})
  return new Promise(done => {
    socket.once('open', () => done(101))
    socket.once('unexpected-response', (_request, response) => {
      done(response.statusCode ?? 0)
      socket.terminate()
    })
  })
}

/** The status of an upgrade request with this token, or without one. */
export async function tryUpgrade(server: Pick<Server, 'url'>, path: string, token: string): Promise<number> {
  const headers = token ? { authorization: `Bearer ${token}` } : {}
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, { headers })
  const status = await upgradeStatus(socket)
  socket.terminate()
  return status
}

/** Whether a screen shows these points, the newest of their subjects. */
export function shows(
  screen: TestScreen,
  newest: ReadonlyMap<string, Pick<Seen, 'timestamp' | 'lat'>>,
): boolean {
  return [...newest].every(([subjectId, { timestamp, lat }]) => {
    const shown = screen.positions.get(subjectId)
    return shown?.timestamp === timestamp && shown.lat === lat
  })
}
