/** The limit of PostgreSQL, in a process of its own: one statement repeatedly, on one or several connections. */
import pg from 'pg'
import { runProcess } from '../load/run-process.ts'
import { createBatches } from './batches.ts'
import { copyIn } from './copy-in.ts'
import { encodeArrays, encodeCopy } from './encode.ts'
import { measureInserts, toJsonRows } from './rows.ts'
import { COPY, FROM_STAGING, JSON_ROWS, type LimitOrder, STAGING, UNNEST } from './statements.ts'

const copyAndInsert = `BEGIN; ${COPY('STDIN')}; EXECUTE from_staging; TRUNCATE staging; COMMIT`

runProcess<LimitOrder>(async order => {
  const clients = await Promise.all(
    Array.from({ length: order.connections }, async () => {
      const client = new pg.Client({ connectionString: order.url })
      await client.connect()
      return client
    }),
  )
  const inserters = await Promise.all(clients.map((client, index) => createInserter(order, client, index)))
  const result = await measureInserts(order, inserters)
  await Promise.all(clients.map(client => client.end()))
  return result
})

async function createInserter(
  order: LimitOrder,
  client: pg.Client,
  connection: number,
): Promise<() => Promise<number>> {
  const next = createBatches(connection, order.connections, order.rows)
  switch (order.form) {
    case 'unnest':
      return async () => {
        const batch = next()
        await client.query({ name: 'points', text: UNNEST, values: encodeArrays(batch) })
        return batch.subject.length
      }
    case 'json':
      return async () => {
        const batch = next()
        await client.query({ name: 'points', text: JSON_ROWS, values: [toJsonRows(batch)] })
        return batch.subject.length
      }
    case 'copy':
      await client.query(`${STAGING}; PREPARE from_staging AS ${FROM_STAGING}`)
      return async () => {
        const batch = next()
        // One round trip: the server continues with the statements after COPY once the rows have arrived.
        await copyIn(client, copyAndInsert, encodeCopy(batch))
        return batch.subject.length
      }
  }
}
