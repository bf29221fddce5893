import { eq, sql } from 'drizzle-orm'
import { notify, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { organizations } from '../schema/organizations.ts'

const HIDDEN = ['visibilityVersion', 'root', 'deletedAt', 'basemapUrl'] as const

/** The default if an organization has no language. */
export const DEFAULT_LANGUAGE = 'en'

/** An organization; its language is null if nobody has set one. */
export type Organization = Shown<typeof organizations, (typeof HIDDEN)[number]>

const COLUMNS = shownColumns(organizations, 'o', HIDDEN)

/** The organization, or null if it is deleted. */
export async function findOrganization(tx: Queryable, id: string): Promise<Organization | null> {
  const [row] = await tx.query<Organization>(
    `SELECT ${COLUMNS} FROM organizations o WHERE o.id = $1 AND o.deleted_at IS NULL`,
    [id],
  )
  return row ?? null
}

export type OrganizationSettings = Pick<
  Organization,
  'name' | 'logo' | 'language' | 'currency' | 'timeZone' | 'settings'
>

/**
 * The number of further organizations that the root of an account may have (row_caps); the server's operator has no
 * limit.
 */
export async function countOrganizationsLeft(tx: Queryable, accountId: string): Promise<number> {
  const [row] = await tx.query<{ left: number }>(
    `SELECT (SELECT max FROM row_caps WHERE table_name = 'organizations') - count(o.id)::int4 AS left
     FROM accounts a JOIN organizations o ON o.root = a.root AND o.deleted_at IS NULL WHERE a.id = $1`,
    [accountId],
  )
  return row?.left ?? 0
}

/** Its root is that of the account that creates it. */
export async function insertOrganization(
  tx: Queryable,
  { id, name, createdBy }: { id: string; name: string; createdBy: string },
): Promise<void> {
  await tx.query(
    `INSERT INTO organizations (id, name, root)
     SELECT $1::uuid, $2::text, coalesce(a.root, $1::uuid) FROM accounts a WHERE a.id = $3`,
    [id, name, createdBy],
  )
}

export async function updateOrganization(
  tx: Queryable,
  id: string,
  change: Partial<OrganizationSettings>,
): Promise<void> {
  await tx.orm
    .update(organizations)
    .set({ ...change, updatedAt: sql`now()` })
    .where(eq(organizations.id, id))
}

/**
 * The organizations in which an account is an active Owner, in the order of joining. An organization that was entered
 * by invitation counts like one that was founded (specification 2.1).
 */
export async function listOwnedOrganizations(
  tx: Queryable,
  accountId: string,
): Promise<{ id: string; hubs: number }[]> {
  return tx.query(
    `SELECT o.id, (SELECT count(*)::int4 FROM hubs h WHERE h.organization_id = o.id) AS hubs
     FROM users u JOIN roles r ON r.id = u.role_id JOIN organizations o ON o.id = u.organization_id
     WHERE u.account_id = $1 AND u.status = 'active' AND r.is_default AND r.name = 'Owner' AND o.deleted_at IS NULL
     ORDER BY u.joined_at, u.id`,
    [accountId],
  )
}

/** Whether the organization has a hub. */
export async function hasHub(tx: Queryable, organizationId: string): Promise<boolean> {
  const [row] = await tx.query<{ found: boolean }>(
    'SELECT EXISTS (SELECT FROM hubs WHERE organization_id = $1) AS found',
    [organizationId],
  )
  return row?.found ?? false
}

/**
 * Deletes an organization: from the commit on, nobody has access. Every user is suspended and every device ended (which
 * ends their sessions, 0010). A sign-in at the same moment either comes first and loses its session, or comes too late.
 */
export async function closeOrganization(tx: Queryable, organizationId: string): Promise<void> {
  await tx.query('UPDATE organizations SET deleted_at = now() WHERE id = $1', [organizationId])
  await tx.query(`UPDATE users SET status = 'suspended' WHERE organization_id = $1`, [organizationId])
  await tx.query(`UPDATE devices SET deleted_at = now() WHERE organization_id = $1 AND deleted_at IS NULL`, [
    organizationId,
  ])
  await tx.query('UPDATE connections SET is_active = false WHERE organization_id = $1', [organizationId])
  await tx.query('DELETE FROM device_references WHERE organization_id = $1', [organizationId])
  await notify(tx, { kind: 'organization', organizationId })
}

/** The oldest organization of the server, which chooses the basemap for all, with its choice; null where there is none. */
export async function findBasemapChoice(
  tx: Queryable,
): Promise<{ organizationId: string; url: string | null } | null> {
  const [row] = await tx.query<{ organizationId: string; url: string | null }>(
    `SELECT id AS "organizationId", basemap_url AS url FROM organizations
     WHERE deleted_at IS NULL ORDER BY created_at, id LIMIT 1`,
  )
  return row ?? null
}

export async function updateBasemapUrl(tx: Queryable, id: string, url: string | null): Promise<void> {
  await tx.orm
    .update(organizations)
    .set({ basemapUrl: url, updatedAt: sql`now()` })
    .where(eq(organizations.id, id))
}
