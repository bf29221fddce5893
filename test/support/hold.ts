import type { Database } from '../../db/client.ts'

/** Keeps the locks of the statement until the returned function is called. */
export async function hold(
  db: Database,
  statement: string,
  values: unknown[] = [],
): Promise<() => Promise<void>> {
  let release = () => {}
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  let holding = Promise.resolve()
  await new Promise<void>((resolve, reject) => {
    holding = db.system.transaction(async tx => {
      await tx.query(statement, values)
      resolve()
      await released
    })
    holding.catch(reject)
  })
  return () => {
    release()
    return holding
  }
}
