import type { ClaimLog, StoredLog } from '../../stream/kafka/topics.ts'
import { startKafka } from '../services/kafka.ts'
import type { Control } from '../services/services.ts'

/** A broker of a test file's own, to be frozen and killed. */
export interface TestKafka {
  /** Why there is none; the tests on it are skipped. */
  missing: string | undefined
  brokers: string[]
  control: Control
  /** What the logs on it complained about. */
  errors: { error: unknown; doing: string }[]
  onError: (error: unknown, doing: string) => void
  stop(): Promise<void>
}

/** What `claimLog` is without a database, for a process that is alone. */
export const claimAlone: ClaimLog = async (_log, _partitions, begin) => {
  await begin?.()
  return new Map()
}

/** What a database says that has nothing of the log, and no row of it: the group's offsets hold. */
export const NOTHING_STORED: StoredLog = {
  readPositions: async () => new Map(),
  listKnown: async () => new Set(),
  reserveKeys: async () => {},
}

/**
 * Starts a broker; with `behind` it tells everybody to come by that port, with `folder` its data are there. With REQUIRE_SERVICES=1 it fails where there can
 * be none.
 */
export async function startTestKafka({
  behind,
  folder,
}: {
  behind?: number
  folder?: string
} = {}): Promise<TestKafka> {
  const settings: Record<string, string> = {
    ...(behind !== undefined && { 'advertised.listeners': `BROKER://127.0.0.1:${behind}` }),
    ...(folder !== undefined && { 'log.dirs': folder }),
  }
  const kafka = await startKafka({ own: true, brief: true, settings })
  if (!kafka.available && process.env.REQUIRE_SERVICES === '1') throw new Error(kafka.reason)
  const errors: TestKafka['errors'] = []
  const onError = (error: unknown, doing: string) => void errors.push({ error, doing })
  if (!kafka.available) {
    const stop = async () => {}
    return { missing: kafka.reason, brokers: [], control: {} as Control, errors, onError, stop }
  }
  const control = kafka.control as Control
  return { missing: undefined, brokers: [kafka.brokers], control, errors, onError, stop: kafka.stop }
}
