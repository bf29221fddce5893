import type { Database } from '../../db/client.ts'
import { timeOfDay } from '../../db/clock.ts'
import { isAway } from '../../db/errors.ts'
import { retry } from '../../db/retry.ts'
import type { Scheduler } from '../../fair/scheduler.ts'
import type { Log, Source, Subject } from '../../stream/log.ts'
import { type Entry, NO_OUTCOMES, type Outcomes } from '../../stream/point.ts'
import { decode } from '../decode.ts'
import { native } from '../formats/native.ts'
import type { Publisher } from '../identity/authenticate.ts'
import type { LastSeen } from '../last-seen.ts'
import type { IngestMetrics } from '../metrics.ts'
import { createDevicesOfKeys, type Key } from './devices-of-keys.ts'
import { listRejections, sendRejections } from './rejections.ts'
import type { Sessions } from './sessions.ts'
import type { Rejections } from './terms.ts'
import { deviceOfTopic, topicsOf } from './topics.ts'

/**
 * Takes the messages that a client with an API key publishes. They hold points of the organization's devices, each on the topic of
 * its device. A message is done when its points are durable or rejected; rejections are sent on the key's own topic.
 */
export interface ForDevices {
  /** Reads a message; null if an API key may not publish there. */
  read(topic: string, payload: Uint8Array): ForDevice | null
  /**
   * Stores messages that were read. Resolves to what was rejected of each; rejects if the sender ends before. Storing them again
   * changes nothing.
   */
  store(
    key: Publisher,
    messages: readonly ForDevice[],
    sender: { ended: boolean },
  ): Promise<readonly Rejections[]>
  close(): void
}

/** A message that was read; its entries have the subject of nobody. */
export interface ForDevice {
  deviceId: string
  entries: Entry[]
  receivedAt: number
}

const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 2_000

export function createForDevices(options: {
  db: Database
  log: Log
  sessions: Sessions
  scheduler: Scheduler
  metrics: IngestMetrics
  lastSeen: Pick<LastSeen, 'see'>
}): ForDevices {
  const { db, log, sessions, metrics, lastSeen } = options
  const devicesOf = createDevicesOfKeys(db)
  let closed = false

  async function append(
    { organizationId, subject }: Key,
    entries: readonly Entry[],
    devices: ReadonlyMap<string, number>,
    sender: { ended: boolean },
  ) {
    const subjects = [...devices].map(
      ([id, subject]): Subject => ({ kind: 'device', id, organizationId, subject }),
    )
    const source: Source = {
      get ended() {
        return sender.ended
      },
      subjects,
      // In the turns of the log a key is one sender, whichever devices it sends for.
      sender: subject,
    }
    const begun = performance.now()
    metrics.received('mqtt', entries)
    metrics.waiting('mqtt', entries.length)
    try {
      const outcomes = await log.append(entries, source)
      metrics.acknowledged('mqtt', entries.length, (performance.now() - begun) / 1000)
      return outcomes
    } finally {
      metrics.waiting('mqtt', -entries.length)
    }
  }

  return {
    read(topic, payload) {
      const deviceId = deviceOfTopic(topic)
      const receivedAt = timeOfDay()
      return deviceId === null
        ? null
        : { deviceId, receivedAt, entries: decode(native, payload, { subject: 0, receivedAt, topic }) }
    },

    async store(publisher, messages, sender) {
      const key = publisher as Key
      const devices = await retry(
        () => devicesOf.find(key, [...new Set(messages.map(one => one.deviceId))]),
        {
          firstMs: RETRY_FIRST_MS,
          maxMs: RETRY_MAX_MS,
          again: error => isAway(error) && !sender.ended && !closed,
        },
      )
      for (const id of devices.keys()) lastSeen.see({ kind: 'device', id })
      const handled = messages.map(one => {
        const subject = devices.get(one.deviceId)
        return { ...one, isKnown: subject !== undefined, entries: withSubject(one.entries, subject) }
      })
      const known = handled.filter(({ isKnown }) => isKnown)
      const entries = known.flatMap(one => one.entries)
      let outcomes: Outcomes = NO_OUTCOMES
      if (entries.length > 0) {
        outcomes = await append(key, entries, devices, sender)
        const sizes = known.map(one => ({ deviceId: one.deviceId, entries: one.entries.length }))
        sendRejections(options, key, sizes, entries, outcomes)
      }
      const unknown = handled.filter(({ isKnown }) => !isKnown).map(describeUnknown)
      if (unknown.length > 0) sessions.send(key.id, `${topicsOf(key)}rejections`, unknown)
      return handled.map(({ isKnown, entries: own }) => {
        const named = isKnown ? listRejections(own, outcomes) : [UNKNOWN]
        return { count: isKnown ? named.length : Math.max(1, own.length), named }
      })
    },

    close() {
      closed = true
      devicesOf.close()
    },
  }
}

const UNKNOWN = { reason: 'unknown-device', message: 'There is no such device.' }

function withSubject(entries: readonly Entry[], subject: number | undefined): Entry[] {
  return entries.map(entry => (subject === undefined ? entry : { ...entry, subject }))
}

function describeUnknown({ deviceId, receivedAt }: ForDevice): string {
  return JSON.stringify({
    ...UNKNOWN,
    index: null,
    receivedAt: new Date(receivedAt).toISOString(),
    deviceId,
  })
}
