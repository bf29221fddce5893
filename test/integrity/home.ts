import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../services/postgres.ts'
import type { TestDatabase } from '../support/database.ts'
import { startTestKafka } from '../support/kafka.ts'
import { createOwnPostgres } from './own-postgres.ts'

/** The services that the processes of a tier lean on. */
export interface Home {
  database: TestDatabase
  /** The environment of its processes. */
  env: Record<string, string>
  remove(): Promise<void>
}

export async function openHome(tier: string, isPlain = false): Promise<Home> {
  if (tier === 'embedded') {
    const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-integrity-'))
    const remove = async () => rmSync(dataDir, { recursive: true, force: true })
    return { database: { kind: 'pglite', url: undefined, dataDir, remove }, env: {}, remove }
  }
  const service = await startPostgres({ own: true, timescaledb: !isPlain })
  if (!service.available || !service.control) throw new Error('PostgreSQL cannot be had here')
  const { database } = await createOwnPostgres(service.url, service.control)
  const remove = async () => {
    await database.remove()
    await service.stop()
  }
  if (tier === 'one-machine') return { database, env: {}, remove }
  const kafka = await startTestKafka()
  if (kafka.missing) throw new Error(kafka.missing)
  return {
    database,
    env: { KAFKA_BROKERS: kafka.brokers.join(','), KAFKA_PARTITIONS: '4' },
    async remove() {
      await kafka.stop()
      await remove()
    },
  }
}
