import type { Queryable } from '../../db/client.ts'

interface Node {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Node[]
}

/** Runs `work`, and counts the rows that its statements read from tables and the rows that they deleted or changed. */
export async function explain(
  db: Queryable,
  work: (db: Queryable) => Promise<unknown>,
): Promise<{ read: number; deleted: number }> {
  const sum = { read: 0, deleted: 0 }
  const walk = (node: Node) => {
    const { 'Node Type': type, 'Actual Rows': rows, 'Actual Loops': loops, Plans = [] } = node
    if (type === 'ModifyTable') sum.deleted += rows * loops
    else if (type.endsWith('Scan') && !/^(CTE|Subquery|Function)/.test(type))
      sum.read += (rows + (node['Rows Removed by Filter'] ?? 0)) * loops
    for (const plan of Plans) walk(plan)
  }
  const explained: Queryable = {
    orm: db.orm,
    async query(text, values) {
      const [row] = await db.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        values,
      )
      walk((row as { 'QUERY PLAN': [{ Plan: Node }] })['QUERY PLAN'][0].Plan)
      return []
    },
  }
  await work(explained)
  return sum
}
