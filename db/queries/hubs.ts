import { eq, sql } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { ALL_HUBS, type VisibleHubs } from '../hub-rule.ts'
import { hubs } from '../schema/hubs.ts'
import { userHubs } from '../schema/users.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'

export type Hub = Shown<typeof hubs>

const COLUMNS = shownColumns(hubs, 'h')

export const HUB_SORTS = {
  name: { sql: 'lower(h.name)', type: 'text' },
  createdAt: { sql: 'h.created_at', type: 'timestamptz' },
} as const

export function listHubs(tx: Queryable, visible: VisibleHubs, page: PageRequest): Promise<Page<Hub>> {
  const { where, values, add } = conditions()
  if (visible !== ALL_HUBS) add('h.id = ANY(?::uuid[])', visible)
  return readPage(
    tx,
    {
      columns: COLUMNS,
      from: 'hubs h',
      where,
      values,
      bytes: storedBytes('h.name', 'h.address'),
      id: 'h.id',
      sorts: HUB_SORTS,
      search: ['h.name', 'h.address'],
    },
    page,
  )
}

/** A visible hub of the organization, or null. */
export async function findHub(tx: Queryable, id: string, visible: VisibleHubs): Promise<Hub | null> {
  const [row] = await tx.query<Hub>(
    `SELECT ${COLUMNS} FROM hubs h WHERE h.id = $1 AND ($2::uuid[] IS NULL OR h.id = ANY($2))`,
    [id, visible],
  )
  return row ?? null
}

/** The visible hubs of the organization among these identifiers. */
export async function listKnownHubs(
  tx: Queryable,
  ids: readonly string[],
  visible: VisibleHubs,
): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    'SELECT id FROM hubs WHERE id = ANY($1::uuid[]) AND ($2::uuid[] IS NULL OR id = ANY($2))',
    [ids, visible],
  )
  return new Set(rows.map(row => row.id))
}

export interface NewHub {
  name: string
  lat: number
  lng: number
  address: string | null
}

/** Creates a hub and gives its creator access to it. */
export async function insertHub(
  tx: Queryable,
  hub: NewHub & { organizationId: string; isSample?: boolean },
  userId: string,
): Promise<string> {
  const id = newId()
  await tx.orm.insert(hubs).values({ id, ...hub })
  await tx.orm.insert(userHubs).values({ organizationId: hub.organizationId, userId, hubId: id })
  return id
}

export async function updateHub(tx: Queryable, id: string, change: Partial<NewHub>): Promise<void> {
  await tx.orm
    .update(hubs)
    .set({ ...change, updatedAt: sql`now()` })
    .where(eq(hubs.id, id))
}

/** Deletes a hub. Violates a foreign key (class 23) if something belongs to it. */
export async function deleteHub(tx: Queryable, id: string): Promise<void> {
  await tx.orm.delete(hubs).where(eq(hubs.id, id))
}
