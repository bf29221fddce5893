import { connect, type MqttClient } from 'mqtt'
import type { Reading } from '../streets/receiver.ts'
import { describeFailure } from './command.ts'
import type { Credentials } from './fleet.ts'

/**
 * One device that behaves like a good tracker. It keeps each point until its PUBACK has come. One message is in transit
 * at a time; points recorded meanwhile, while the server is busy or away or there is no mobile network, go in the next one
 * as an array. A message whose acknowledgement was lost is sent again, and the server recognizes its points.
 *
 * The MQTT client does not reconnect by itself, because it would send unacknowledged messages again one after the other.
 */
export interface Tracker {
  readonly state: 'connecting' | 'connected' | 'away' | 'denied'
  /** The number of points without acknowledgement. */
  readonly waiting: number
  /** Whether the device can send. It keeps its connection while there is no mobile network. */
  readonly hasNetwork: boolean
  /** The result of the first attempt to connect: null, or why it failed. */
  readonly firstAttempt: Promise<string | null>
  /** Stops recording points, and sends what is kept. */
  halt(): void
  close(): Promise<void>
}

/** Counters of the whole fleet. */
export interface Tally {
  acknowledged: number
  /** The acknowledged points that the server rejected. */
  rejected: number
  /** Points never sent, because the server was away for too long. */
  dropped: number
  /** Why the last connection was lost. */
  lastFailure: string
  onRejected(name: string, message: string): void
}

/** Ten minutes at one point a second. */
const MAX_KEPT = 600
/** The server's limit for one message. */
const MAX_PER_MESSAGE = 1_000
const RETRY_FIRST_MS = 1_000
const RETRY_MAX_MS = 5_000
/** CONNACK return codes of MQTT 3.1.1 after which the same credentials will never be accepted. */
const DENIED = [4, 5]

export function openTracker(options: {
  url: string
  device: Credentials
  /** The reading at a time of our clock; null where the receiver has no signal. */
  read: (now: number) => Reading | null
  hasNetwork: (now: number) => boolean
  /** The first point is recorded after `delayMs`. */
  everyMs: number
  delayMs: number
  tally: Tally
}): Tracker {
  const { device, tally } = options
  const topics = {
    location: `devices/${device._id}/location`,
    rejections: `devices/${device._id}/rejections`,
  }
  let kept: string[] = []
  let underWay = 0
  let client: MqttClient | undefined
  let state: Tracker['state'] = 'connecting'
  let retry: NodeJS.Timeout | undefined
  let retryMs = RETRY_FIRST_MS
  let lastRecordedAt = 0
  let halted = false
  let closed = false
  let settleFirst: (failure: string | null) => void = () => {}
  const firstAttempt = new Promise<string | null>(resolve => {
    settleFirst = resolve
  })

  function open(): void {
    const opened = connect(options.url, {
      protocolVersion: 4,
      clientId: `simulate-${device._id}`,
      username: device._id,
      password: device.key,
      clean: true,
      keepalive: 30,
      connectTimeout: 15_000,
      reconnectPeriod: 0,
    })
    client = opened
    let failure: unknown = 'the connection was closed'
    opened.on('connect', () => {
      state = 'connected'
      retryMs = RETRY_FIRST_MS
      settleFirst(null)
      opened.subscribe(topics.rejections, () => {})
      send()
    })
    opened.on('message', (_topic, payload) => {
      tally.rejected++
      tally.onRejected(device.name, readRejection(payload))
    })
    opened.on('error', error => {
      failure = error
    })
    opened.on('close', () => {
      // Called both after a CONNACK that denies access and after the end of the socket.
      if (client !== opened) return
      client = undefined
      underWay = 0
      opened.end(true)
      if (closed) return
      state = DENIED.includes(Number((failure as { code?: unknown }).code)) ? 'denied' : 'away'
      tally.lastFailure = describeFailure(failure)
      settleFirst(tally.lastFailure)
      if (state === 'denied') return halt()
      // Random delays, so that a server that comes back does not meet all devices at once.
      retry = setTimeout(open, retryMs * (0.5 + Math.random() / 2))
      retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)
    })
  }

  function record(): void {
    // The server would take two points with the same time for one point.
    const now = Math.max(Date.now(), lastRecordedAt + 1)
    lastRecordedAt = now
    const reading = options.read(now)
    if (reading) kept.push(JSON.stringify({ ...round(reading), timestamp: now }))
    if (kept.length > MAX_KEPT) {
      kept.splice(underWay, 1)
      tally.dropped++
    }
    send()
  }

  const hasNetwork = () => halted || options.hasNetwork(Date.now())

  function send(): void {
    if (underWay > 0 || kept.length === 0 || !client?.connected || !hasNetwork()) return
    const by = client
    const points = kept.slice(0, MAX_PER_MESSAGE)
    underWay = points.length
    by.publish(
      topics.location,
      points.length === 1 ? `${points[0]}` : `[${points.join()}]`,
      { qos: 1 },
      error => {
        if (error || by !== client) return
        kept = kept.slice(points.length)
        tally.acknowledged += points.length
        underWay = 0
        send()
      },
    )
  }

  let ticks: NodeJS.Timeout = setTimeout(() => {
    record()
    ticks = setInterval(record, options.everyMs)
  }, options.delayMs)
  function halt(): void {
    clearTimeout(ticks)
    halted = true
    send()
  }
  open()

  return {
    get state() {
      return state
    },
    get waiting() {
      return kept.length
    },
    get hasNetwork() {
      return hasNetwork()
    },
    firstAttempt,
    halt,
    async close() {
      closed = true
      halt()
      clearTimeout(retry)
      // With a message in transit, end() without force would wait for its acknowledgement.
      await client?.endAsync(underWay > 0 || state !== 'connected')
    },
  }
}

/** Rounds to a receiver's precision: 0.1 m, 0.01 m/s, 0.1 degrees. */
function round(reading: Reading): Reading {
  const to = (value: number, parts: number) => Math.round(value * parts) / parts
  return {
    ...reading,
    lat: to(reading.lat, 1e6),
    lng: to(reading.lng, 1e6),
    speed: to(reading.speed, 100),
    heading: to(reading.heading, 10) % 360,
    accuracy: to(reading.accuracy, 10),
  }
}

function readRejection(payload: Buffer): string {
  try {
    return (JSON.parse(payload.toString('utf8')) as { message: string }).message
  } catch {
    return payload.toString('utf8')
  }
}
