import type { ClaimLog, StoredLog } from '../../stream/kafka/topics.ts'
import { startKafka } from '../services/kafka.ts'
import type { Control } from '../services/services.ts'

/** A broker for one test file, to be frozen and killed. */
export interface TestKafka {
  /** The reason why there is none; its tests are skipped. */
  missing: string | undefined
  brokers: string[]
  control: Control
  /** The errors of the logs on it. */
  errors: { error: unknown; doing: string }[]
  onError: (error: unknown, doing: string) => void
  stop(): Promise<void>
}

/** `claimLog` without a database, for a process that is alone. */
export const claimAlone: ClaimLog = async (_log, _partitions, begin) => {
  await begin?.()
  return new Map()
}

/** The answers of a database without any row of the log: the group's offsets apply. */
export const NOTHING_STORED: StoredLog = {
  readPositions: async () => new Map(),
  listKnown: async () => new Set(),
  reserveKeys: async () => {},
}

/**
 * Starts a broker. With `behind` it announces that port to its clients, with `folder` its data are there. With
 * REQUIRE_SERVICES=1 it fails if no broker can run.
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
