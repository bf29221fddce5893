import type { Resolve } from '../../../fair/public-addresses.ts'
import type { TrackerConnection } from '../connection.ts'
import { BrokerClient, type ClientServices } from './client.ts'
import { explainFault, WrongVersion } from './faults.ts'
import type { BrokerSettings } from './settings.ts'
import { openStream } from './stream.ts'

/** Keeps a connection to another broker: opens it, and opens it again when it has ended, each time after a longer pause. */
export interface Holder {
  /** Ends it. `forget` also ends the session at the broker, for a connection that is deleted. */
  close(options: { forget: boolean }): void
}

const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 60_000
/** A connection that was subscribed for as long was a good one. */
const LASTED_MS = 10_000

export function holdBroker(options: {
  connection: TrackerConnection
  settings: BrokerSettings
  /** The topics that the session at the broker was subscribed to before. */
  subscribed: readonly string[]
  services: ClientServices
  allowPrivate: boolean
  resolve?: Resolve | undefined
  /** Whether this process may still connect; another one may have taken over. */
  mayConnect: () => boolean
  /** Called when the session at the broker is subscribed to the settings' topics. */
  onSubscribed: () => void
}): Holder {
  const { connection, settings, services, allowPrivate, mayConnect } = options
  const { journal } = services.intake
  let subscribed = options.subscribed
  let version: 4 | 5 = 5
  /** Whether the broker has accepted this version. */
  let isSettled = false
  let client: BrokerClient | null = null
  let timer: NodeJS.Timeout | undefined
  let pauseMs = FIRST_PAUSE_MS
  let connectedAt = Number.POSITIVE_INFINITY
  let closed = false

  function open(): void {
    if (closed) return
    if (!mayConnect()) {
      again()
      return
    }
    connectedAt = Number.POSITIVE_INFINITY
    try {
      client = new BrokerClient({
        stream: openStream(settings, { allowPrivate, resolve: options.resolve }),
        connection,
        settings,
        version,
        formerTopics: subscribed.filter(topic => !settings.topics.includes(topic)),
        services,
        onState(complaint) {
          isSettled = true
          connectedAt = performance.now()
          subscribed = settings.topics
          options.onSubscribed()
          journal.tell(connection, 'connected', complaint)
        },
        onEnd: ended,
      })
    } catch (error) {
      ended(error)
    }
  }

  function ended(error: unknown): void {
    client = null
    if (closed) return
    if (performance.now() - connectedAt > LASTED_MS) pauseMs = FIRST_PAUSE_MS
    if (error instanceof WrongVersion && version === 5 && !isSettled) {
      version = 4
      open()
      return
    }
    if (!isSettled) version = 5
    journal.tell(connection, 'failed', explainFault(error))
    again()
  }

  function again(): void {
    // Half of it is chance, so that many connections to one broker do not come at the same moment.
    timer = setTimeout(open, pauseMs * (0.5 + Math.random() / 2))
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)
  }

  journal.tell(connection, 'connecting', null)
  open()
  return {
    close({ forget }) {
      closed = true
      clearTimeout(timer)
      client?.close({ forget })
    },
  }
}
