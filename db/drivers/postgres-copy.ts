import type pg from 'pg'
import type { CopyIn } from './driver.ts'

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
 *
 * pg puts its `query_timeout` around the callback that it is given, and keeps the query, rows and all, until that timeout
 * has come or the callback is called: so it is called whatever happens.
 */
export function copyInto(client: pg.ClientBase, copy: CopyIn): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: Error | undefined
    const query = {
      callback: (error?: Error) => (error ? reject(error) : resolve()),
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
        query.callback(failure)
      },
      handleReadyForQuery() {
        query.callback(failure)
      },
      handleRowDescription() {},
      handleDataRow() {},
      handleCommandComplete() {},
      handleEmptyQuery() {},
    }
    client.query(query as unknown as pg.Submittable)
  })
}
