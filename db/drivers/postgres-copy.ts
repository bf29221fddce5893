import type pg from 'pg'
import type { CopyIn } from './driver.ts'

/**
 * The methods of a connection that a query object may call; pg 8.23.1 calls `submit` and the handlers on the query
 * object.
 */
interface Connection {
  query(text: string): void
  sendCopyFromChunk(chunk: Uint8Array): void
  endCopyFrom(): void
}

/**
 * Sends COPY and a statement after it as one message of the simple protocol: that is one transaction and one round
 * trip, while pg-copy-streams with BEGIN and COMMIT around it takes four. Like that package, it relies on the methods
 * that pg calls on a query object; `test/stream/writer.test.ts` stores through it.
 *
 * pg starts its `query_timeout` around the given callback, and keeps the query with all rows until the timeout or the
 * callback comes: so the callback is always called.
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
        // After a lost connection no further call comes.
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
