import type { Admin } from 'kafkajs'
import { ADMIN_RETRIES, inTime, type KafkaClient } from './client.ts'

/** Sends administrative requests to Kafka over one client, which is kept as long as Kafka answers. */
export interface Administrator {
  /** Rejects when the answer takes longer than the administrator's limit. */
  ask<T>(work: (admin: Admin) => Promise<T>): Promise<T>
}

interface Kept {
  client: KafkaClient
  admin: Promise<Admin>
}

/** The client comes from `newClient`, whose owner ends it when the log closes. */
export function createAdministrator(newClient: (retries: number) => KafkaClient, ms: number): Administrator {
  let kept: Kept | null = null

  function open(): Kept {
    const client = newClient(ADMIN_RETRIES)
    const admin = client.kafka.admin()
    return { client, admin: admin.connect().then(() => admin) }
  }

  async function askWith<T>(one: Kept, work: (admin: Admin) => Promise<T>): Promise<T> {
    try {
      return await inTime(
        ms,
        one.admin.then(admin => work(admin)),
      )
    } catch (error) {
      // A protocol error is an answer, so the connection works.
      if (isProtocolError(error)) throw error
      // Otherwise the next request opens a new client: a connection may stay half open for a long time.
      if (kept === one) kept = null
      one.client.end()
      throw error
    }
  }

  return {
    async ask(work) {
      const known = kept
      kept ??= open()
      if (!known) return askWith(kept, work)
      // A broker closes connections that were idle for long, so the request is sent once more.
      return askWith(known, work).catch(error => {
        if (isProtocolError(error)) throw error
        kept ??= open()
        return askWith(kept, work)
      })
    },
  }
}

/** kafkajs does not export this class by name to Node. */
const isProtocolError = (error: unknown) => error instanceof Error && error.name === 'KafkaJSProtocolError'
