/** The limit of PGlite in the main thread of a process of its own: nothing is between it and the rows. */
import { PGlite } from '@electric-sql/pglite'
import { postgis } from '@electric-sql/pglite-postgis'
import { DurableFiles } from '../../db/drivers/pglite-files.ts'
import { runProcess } from '../load/run-process.ts'
import { createBatches } from './batches.ts'
import { encodeArrays, encodeCopy } from './encode.ts'
import { measureInserts, toJsonRows } from './rows.ts'
import { COPY, FROM_STAGING, JSON_ROWS, type LimitOrder, STAGING, UNNEST } from './statements.ts'

runProcess<LimitOrder>(async order => {
  // Acknowledged means durable, so both the service and its limit wait for the disk.
  const pglite = await PGlite.create({ fs: new DurableFiles(order.directory), extensions: { postgis } })
  const insert = await createInserter(order, pglite)
  const result = await measureInserts(order, [insert])
  await pglite.close()
  return result
})

async function createInserter(order: LimitOrder, pglite: PGlite): Promise<() => Promise<number>> {
  const next = createBatches(0, 1, order.rows)
  switch (order.form) {
    case 'unnest':
      return async () => {
        const batch = next()
        await pglite.query(UNNEST, encodeArrays(batch))
        return batch.subject.length
      }
    case 'json':
      return async () => {
        const batch = next()
        await pglite.query(JSON_ROWS, [toJsonRows(batch)], { serializers: { 114: text => text as string } })
        return batch.subject.length
      }
    case 'copy':
      await pglite.exec(STAGING)
      return async () => {
        const batch = next()
        await pglite.transaction(async tx => {
          await tx.query(COPY("'/dev/blob'"), [], { blob: new Blob([encodeCopy(batch)]) })
          await tx.query(FROM_STAGING)
          await tx.exec('TRUNCATE staging')
        })
        return batch.subject.length
      }
  }
}
