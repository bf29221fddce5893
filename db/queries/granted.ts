import type { Queryable } from '../client.ts'
import { grantsOf } from '../grants.ts'
import type { PermissionDetail } from '../schema/roles.ts'

/**
 * Caches the permissions of roles, which are read and parsed once for each version of their rows: a role may have 32
 * KB, and every request has one. A row's version is its place and the transaction that wrote it, which no other version
 * of any row shares.
 */
export const ROLE_VERSION = `concat(r.xmin, ' ', r.ctid)`

/** The maximum of all cached roles as JSON text; the least recently read ones are dropped. */
const MAX_CHARACTERS = 16 * 1024 * 1024

interface Known {
  version: string
  granted: readonly PermissionDetail[]
  characters: number
}
const known = new Map<string, Known>()
let characters = 0

function forget(id: string): void {
  characters -= known.get(id)?.characters ?? 0
  known.delete(id)
}

/** Adds the permissions of the rows' roles. */
export async function addGrants<Row extends { roleId: string; roleVersion: string }>(
  db: Queryable,
  rows: readonly Row[],
): Promise<(Omit<Row, 'roleVersion'> & { permissionDetails: readonly PermissionDetail[] })[]> {
  const missing = rows.filter(({ roleId, roleVersion }) => known.get(roleId)?.version !== roleVersion)
  const read = missing.length > 0 ? await readGrants(db, new Set(missing.map(({ roleId }) => roleId))) : null
  return rows.map(({ roleVersion: _, ...row }) => {
    const found = read?.get(row.roleId) ?? known.get(row.roleId)
    // A deleted role grants nothing.
    return { ...row, permissionDetails: found?.granted ?? [] }
  })
}

async function readGrants(db: Queryable, ids: ReadonlySet<string>): Promise<Map<string, Known>> {
  const rows = await db.query<{ id: string; version: string; details: PermissionDetail[] }>(
    `SELECT r.id, ${ROLE_VERSION} AS version, r.permission_details AS details FROM roles r WHERE r.id = ANY($1::uuid[])`,
    [[...ids]],
  )
  const read = new Map<string, Known>()
  for (const { id, version, details } of rows) {
    const granted = Object.freeze(grantsOf(details))
    const role = { version, granted, characters: JSON.stringify(granted).length }
    read.set(id, role)
    forget(id)
    known.set(id, role)
    characters += role.characters
  }
  for (const [oldest] of known) {
    if (characters <= MAX_CHARACTERS) break
    forget(oldest)
  }
  return read
}
