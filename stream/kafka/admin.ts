import type { Admin } from 'kafkajs'
import { ADMIN_RETRIES, inTime, type KafkaClient } from './client.ts'

/** Asks Kafka as an administrator over one client, which is kept as long as it answers. */
export interface Administrator {
  /** Rejects when the answer takes longer than a question may. */
  ask<T>(work: (admin: Admin) => Promise<T>): Promise<T>
}

interface Kept {
  client: KafkaClient
  admin: Promise<Admin>
}

/** The client is one of `newClient`, who ends it in the end. */
export function createAdministrator(newClient: (retries: number) => KafkaClient, ms: number): Administrator {
  let kept: Kept | null = null

  function open(): Kept {
    const client = newClient(ADMIN_RETRIES)
    const admin = client.kafka.admin()
    return { client, admin: admin.connect().then(() => admin) }
  }

  async function askOver<T>(one: Kept, work: (admin: Admin) => Promise<T>): Promise<T> {
    try {
      return await inTime(
        ms,
        one.admin.then(admin => work(admin)),
      )
    } catch (error) {
      // An error of the protocol is an answer.
      if (isProtocolError(error)) throw error
      // Otherwise the next question begins anew: a connection may be half open for long.
      if (kept === one) kept = null
      one.client.end()
      throw error
    }
  }

  return {
    async ask(work) {
      const known = kept
      kept ??= open()
      if (!known) return askOver(kept, work)
      // A broker closes connections that were idle for long; then it is asked once more.
      return askOver(known, work).catch(error => {
        if (isProtocolError(error)) throw error
        kept ??= open()
        return askOver(kept, work)
      })
    },
  }
}

/** kafkajs' class is no named export to Node. */
const isProtocolError = (error: unknown) => error instanceof Error && error.name === 'KafkaJSProtocolError'
