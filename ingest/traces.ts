import type { Database } from '../db/client.ts'
import { isUuid } from '../db/client.ts'
import { type NewTrace, recordTraces, type TraceKind } from '../db/queries/device-traces.ts'
import { SharedMap } from '../fair/shared-map.ts'
import { cleanText } from './fix.ts'
import { hideKeys } from './identity/authenticate.ts'

/**
 * The deeds of a device that leave no point: a refused sign-in, a topic that it may not publish to. Kept for whoever asks why a
 * tracker is not on the map. Noting costs a map access; each device and kind is written at most once a minute. Every bound
 * has a part for each organization, so that the fleet of one blinds no other.
 */
export interface Traces {
  note(device: TracedDevice, kind: TraceKind, more?: { address?: string; detail?: string }): void
  /** Notes a key that fits nothing. `name` is what was sent with it, and may be a device's identifier. */
  refuse(name: string | null, keyHash: Buffer, address: string | undefined): void
  /** Writes what is pending of a device, and keys that fit nothing. Called before somebody reads. */
  flush(deviceId: string): Promise<void>
  close(): Promise<void>
}

const EVERY_MS = 60_000
/** How soon the first one is written: whoever looks for a fault tries again at once. */
const LOOK_EVERY_MS = 1_000
const BATCH = 1_000
/** Strangers fill one of the three: keys that fit nothing come without a proof. Each entry takes about 300 bytes. */
const MAX_PENDING = 10_000
const MAX_PENDING_OF_ONE = 1_000
const MAX_REFUSED = 1_000
/** Connections are noted for every device of a fleet. What finds no room is noted with the next message. */
const MAX_CARRIED = 20_000
const MAX_CARRIED_OF_ONE = 5_000
/** Devices whose connection of the last minute is known; each takes about 150 bytes. */
const MAX_KNOWN = 100_000
const MAX_KNOWN_OF_ONE = 25_000
const MAX_DETAIL = 400
const MAX_ADDRESS = 60
/** A database that is away does not delay the end of the process. */
const CLOSE_WITHIN_MS = 2_000

interface TracedDevice {
  id: string
  organizationId: string
}

/** Those that were written within the last minute. */
const MAX_WRITTEN = MAX_PENDING + MAX_REFUSED + MAX_CARRIED

type Pending = Omit<NewTrace, 'secondsAgo'> & { at: number }

export function createTraces(options: {
  db: Database
  onError: (error: unknown, doing: string) => void
  everyMs?: number
  lookEveryMs?: number
}): Traces {
  const { db, onError, everyMs = EVERY_MS, lookEveryMs = LOOK_EVERY_MS } = options
  const noted = new SharedMap<Pending>(MAX_PENDING, MAX_PENDING_OF_ONE)
  const carried = new SharedMap<Pending>(MAX_CARRIED, MAX_CARRIED_OF_ONE)
  const refused = new SharedMap<Pending>(MAX_REFUSED, MAX_REFUSED)
  /** The connection that a device came over, and since when it is known. */
  const connections = new SharedMap<{ detail: string | null; at: number }>(MAX_KNOWN, MAX_KNOWN_OF_ONE)
  /** The time of the last write, as long as it is within the last minute. */
  const written = new Map<string, number>()

  /** A device comes over the same connection with every message, so that once a minute is enough. */
  function addCarried({ id, organizationId }: TracedDevice, one: Omit<Pending, 'at' | 'count'>): void {
    const known = connections.get(id)
    const { detail } = one
    if (known?.detail === detail) return
    const at = performance.now()
    connections.delete(id)
    if (connections.set(id, organizationId, { detail, at }) && !add(carried, organizationId, one))
      connections.delete(id)
  }

  async function write(from: SharedMap<Pending>, isDue: (key: string) => boolean): Promise<void> {
    const due = [...from.entries()].filter(([key]) => isDue(key)).map(([key]) => key)
    for (let at = 0; at < due.length; at += BATCH) {
      const part = due.slice(at, at + BATCH).map(key => [key, from.get(key) as Pending] as const)
      for (const [key] of part) from.delete(key)
      const now = performance.now()
      await recordTraces(
        db.system,
        part.map(([, { at, ...one }]) => ({ ...one, secondsAgo: (now - at) / 1000 })),
      )
      // Those that were refused may name any device, so that they are bounded as well.
      for (const [key] of part) {
        written.delete(key)
        if (written.size < MAX_WRITTEN) written.set(key, now)
      }
    }
  }

  let writing = Promise.resolve()
  function writeNext(isDue: (key: string) => boolean): Promise<void> {
    if (noted.size + carried.size + refused.size === 0) return writing
    writing = writing
      .then(async () => {
        await write(noted, isDue)
        await write(carried, isDue)
        await write(refused, isDue)
      })
      .catch(error => onError(error, 'writing what devices did beside sending points'))
    return writing
  }

  let isLooking = false
  const timer = setInterval(() => {
    if (isLooking) return
    isLooking = true
    const before = performance.now() - everyMs
    forgetOld(written, before, at => at)
    forgetOld(connections, before, ({ at }) => at)
    void writeNext(key => !written.has(key)).finally(() => {
      isLooking = false
    })
  }, lookEveryMs)

  return {
    note(device, kind, { address, detail } = {}) {
      const one = {
        ...{ deviceId: device.id, kind, keyHash: null },
        address: address?.slice(0, MAX_ADDRESS) ?? null,
        detail: detail === undefined ? null : cleanText(hideKeys(detail.slice(0, MAX_DETAIL))),
      }
      if (kind === 'connection') addCarried(device, one)
      else add(noted, device.organizationId, one)
    },
    refuse(name, keyHash, address) {
      const deviceId = name !== null && isUuid(name) ? name.toLowerCase() : null
      add(refused, null, {
        ...{ deviceId, kind: 'wrong-key', keyHash: keyHash.toString('hex'), detail: null },
        address: address?.slice(0, MAX_ADDRESS) ?? null,
      })
    },
    flush: deviceId => writeNext(key => key.startsWith(`${deviceId} `) || key.startsWith('null ')),
    async close() {
      clearInterval(timer)
      let late: NodeJS.Timeout | undefined
      const waited = new Promise<void>(resolve => {
        late = setTimeout(resolve, CLOSE_WITHIN_MS)
      })
      await Promise.race([writeNext(() => true), waited])
      clearTimeout(late)
    },
  }
}

/** Forgets what is older. The oldest comes first, so that a look takes as long as there is something to forget. */
function forgetOld<Value>(
  from: { entries(): Iterable<[string, Value]>; delete(key: string): unknown },
  before: number,
  atOf: (value: Value) => number,
): void {
  for (const [key, value] of from.entries()) {
    if (atOf(value) > before) return
    from.delete(key)
  }
}

/** Returns false where there is no room. */
function add(
  to: SharedMap<Pending>,
  organizationId: string | null,
  one: Omit<Pending, 'at' | 'count'>,
): boolean {
  const key = `${one.deviceId} ${one.kind} ${one.keyHash}`
  const count = (to.get(key)?.count ?? 0) + 1
  return to.set(key, organizationId, { ...one, at: performance.now(), count })
}
