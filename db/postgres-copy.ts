import type pg from 'pg'
import type { CopyIn } from './client.ts'

/** What pg 8.23.1 calls on a query that it has been handed (`submit` and on), and what it may call in turn. */
interface Connection {
  query(text: string): void
  sendCopyFromChunk(chunk: Uint8Array): void
  endCopyFrom(): void
}

/**
 * COPY and a statement after it, as one message of the simple protocol: that is one transaction and one round trip, where
 * pg-copy-streams with BEGIN and COMMIT around it takes four. It leans on what pg calls on a query object, as that
 * package does; `test/stream/writer.test.ts` stores through it.
 */
export function copyInto(client: pg.ClientBase, copy: CopyIn, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('Query read timeout')), timeoutMs)
    let failure: Error | undefined
    const query = {
      submit(connection: Connection) {
        connection.query(`COPY ${copy.into} FROM STDIN WITH (FORMAT binary); ${copy.afterwards}`)
      },
      handleCopyInResponse(connection: Connection) {
        connection.sendCopyFromChunk(copy.rows)
        connection.endCopyFrom()
      },
      handleError(error: Error) {
        failure ??= error
        // After a lost connection nothing more comes.
        clearTimeout(timer)
        reject(error)
      },
      handleReadyForQuery() {
        clearTimeout(timer)
        if (!failure) resolve()
      },
      handleRowDescription() {},
      handleDataRow() {},
      handleCommandComplete() {},
      handleEmptyQuery() {},
    }
    client.query(query as unknown as pg.Submittable)
  })
}
