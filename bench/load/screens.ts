/**
 * The load generator of screens, in a process of its own: it opens live sockets and watches their messages. It reads
 * one order per line from standard input, and answers each with a line on standard output. It ends with its input.
 */
import { connect, type Socket } from 'node:net'
import WebSocket from 'ws'
import { connectFrame, publishRing } from './frames.ts'
import { Latencies } from './latencies.ts'
import { obeyLines } from './orders.ts'

export type ScreenOrder =
  /** Opens `count` screens of the whole organization. Answers `{}` when each has its snapshot. */
  | { do: 'open'; url: string; token?: string; count: number }
  /** Publishes with these devices from time to time, and times each point to each screen. Answers `{}` at once. */
  | { do: 'probe'; host: string; port: number; devices: { id: string; key: string }[] }
  /** Ends probing. Answers `Probed`. */
  | { do: 'probed' }
  /** Counts frames for some seconds. Answers `{ frames, bytes }`. */
  | { do: 'count'; seconds: number }

export interface Probed {
  /** Milliseconds from publishing to the screen. */
  latency: { p50: number; p99: number; max: number }
  points: number
  /** The number of points, over all screens, that did not arrive. */
  missed: number
}

/** The minimum and maximum interval: longer than a tick, so that each point is sent separately. */
const PROBE_EVERY_MS = [300, 900] as const
const ON_ITS_WAY_MS = 2_000
const OPEN_AT_ONCE = 100

const screens: WebSocket[] = []
let received = { frames: 0, bytes: 0 }
let probes: { timer: NodeJS.Timeout; socket: Socket }[] = []
let watched: string[] = []
let latencies = new Latencies()
let published = 0
let seen = 0

obeyLines<ScreenOrder>(async order => {
  switch (order.do) {
    case 'open':
      for (let opened = 0; opened < order.count; opened += OPEN_AT_ONCE) {
        const count = Math.min(OPEN_AT_ONCE, order.count - opened)
        await Promise.all(Array.from({ length: count }, () => openScreen(order)))
      }
      return {}
    case 'probe':
      for (const device of order.devices) await startProbe(order, device)
      return {}
    case 'probed': {
      for (const { timer } of probes) clearInterval(timer)
      await new Promise(resolve => setTimeout(resolve, ON_ITS_WAY_MS))
      for (const { socket } of probes) socket.destroy()
      const answer: Probed = {
        latency: latencies.summary(),
        points: published,
        missed: published * screens.length - seen,
      }
      probes = []
      watched = []
      latencies = new Latencies()
      published = 0
      seen = 0
      return answer
    }
    case 'count': {
      received = { frames: 0, bytes: 0 }
      await new Promise(resolve => setTimeout(resolve, order.seconds * 1000))
      return received
    }
  }
})

function openScreen({ url, token }: { url: string; token?: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = token ? { authorization: `Bearer ${token}` } : {}
    const screen = new WebSocket(url, { headers, perMessageDeflate: false, skipUTF8Validation: true })
    screen.on('open', () => screen.send(JSON.stringify({ type: 'subscribe', filter: {}, since: null })))
    screen.on('message', (data: Buffer) => {
      received.frames++
      received.bytes += data.length
      if (watched.length > 0) findProbes(data)
      resolve()
    })
    screen.on('error', reject)
    screen.on('close', code => reject(new Error(`A screen was closed: ${code}`)))
    screens.push(screen)
  })
}

const TIMESTAMP = '"timestamp":"'
const ISO_LENGTH = 24

/** The frame is not parsed: with hundreds of screens parsing would dominate the measurement. */
function findProbes(frame: Buffer): void {
  const now = Date.now()
  for (const id of watched) {
    const at = frame.indexOf(id)
    if (at < 0) continue
    const from = frame.indexOf(TIMESTAMP, at) + TIMESTAMP.length
    latencies.record(now - Date.parse(frame.toString('latin1', from, from + ISO_LENGTH)))
    seen++
  }
}

function startProbe(at: { host: string; port: number }, device: { id: string; key: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: at.host, port: at.port, noDelay: true })
    const ring = publishRing(`devices/${device.id}/location`, 1)
    const publish = () => {
      ring.patch(0, Date.now())
      socket.write(ring.bytes)
      published++
    }
    socket.on('connect', () => socket.write(connectFrame(`probe-${device.id}`, device.id, device.key)))
    socket.once('data', chunk => {
      if (chunk[0] !== 0x20 || chunk[3] !== 0)
        return reject(new Error(`A probe was refused: ${chunk.toString('hex')}`))
      watched.push(device.id)
      const [least, most] = PROBE_EVERY_MS
      probes.push({ socket, timer: setInterval(publish, least + Math.random() * (most - least)) })
      resolve()
    })
    socket.on('error', reject)
  })
}
