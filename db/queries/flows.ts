import { eq, sql } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { flows, type Step } from '../schema/flows.ts'
import { type Page, type PageRequest, readPage, storedBytes } from './page.ts'

/** A flow as the interface shows it: the steps that a task may take. */
export type Flow = Shown<typeof flows>

const COLUMNS = shownColumns(flows, 'f')

export const FLOW_SORTS = {
  name: { sql: 'lower(f.name)', type: 'text' },
  createdAt: { sql: 'f.created_at', type: 'timestamptz' },
} as const

export function listFlows(tx: Queryable, page: PageRequest): Promise<Page<Flow>> {
  return readPage(
    tx,
    {
      columns: COLUMNS,
      from: 'flows f',
      where: [],
      values: [],
      bytes: storedBytes('f.steps'),
      id: 'f.id',
      sorts: FLOW_SORTS,
      search: ['f.name'],
    },
    page,
  )
}

/** A flow of the organization, or null. A lock keeps it from being replaced until the transaction ends. */
export async function findFlow(
  tx: Queryable,
  id: string,
  lock: '' | 'FOR SHARE' | 'FOR NO KEY UPDATE' = '',
): Promise<Flow | null> {
  const [row] = await tx.query<Flow>(`SELECT ${COLUMNS} FROM flows f WHERE f.id = $1 ${lock}`, [id])
  return row ?? null
}

/**
 * The flow of a task that names none: the first that came with the organization, or else the oldest; null without any.
 */
export async function findUsualFlow(tx: Queryable): Promise<string | null> {
  const [row] = await tx.query<{ id: string }>('SELECT id FROM flows ORDER BY is_default DESC, id LIMIT 1')
  return row?.id ?? null
}

/** The existing ones among these flows, by their identifiers. */
export async function listFlowsById(tx: Queryable, ids: readonly string[]): Promise<Map<string, Flow>> {
  const rows = await tx.query<Flow>(`SELECT ${COLUMNS} FROM flows f WHERE f.id = ANY($1::uuid[])`, [ids])
  return new Map(rows.map(flow => [flow._id, flow]))
}

/** The organization's flows among these. */
export async function listKnownFlows(tx: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>('SELECT id FROM flows WHERE id = ANY($1::uuid[])', [ids])
  return new Set(rows.map(({ id }) => id))
}

export interface NewFlow {
  name: string
  dataTypeId: string | null
  steps: Step[]
}

/** Returns the identifiers in the given order. */
export async function insertFlows(
  tx: Queryable,
  organizationId: string,
  given: readonly (NewFlow & { isDefault: boolean; isSample?: boolean })[],
): Promise<string[]> {
  const rows = given.map(flow => ({ ...flow, id: newId(), organizationId }))
  if (rows.length > 0) await tx.orm.insert(flows).values(rows)
  return rows.map(row => row.id)
}

export async function updateFlow(tx: Queryable, id: string, flow: NewFlow): Promise<void> {
  await tx.orm
    .update(flows)
    .set({ ...flow, updatedAt: sql`now()` })
    .where(eq(flows.id, id))
}

export async function deleteFlow(tx: Queryable, id: string): Promise<void> {
  await tx.orm.delete(flows).where(eq(flows.id, id))
}
