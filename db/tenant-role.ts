import { type Queryable, TENANT_ROLE } from './client.ts'
import type { Statement } from './drivers/driver.ts'
import { sqlState } from './errors.ts'

const INSUFFICIENT_PRIVILEGE = '42501'

/**
 * Runs before the first migration: prepares the role for tenants' queries. Roles belong to the server and not to the
 * database, so the start of another database may have created it, or an administrator (docs/postgresql.md).
 */
export async function prepareTenantRole(run: (statement: Statement) => Promise<unknown[]>): Promise<void> {
  const ask = async (text: string) => (await run({ text, values: [] })) as { yes: boolean }[]
  const [found] = await ask(`SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = '${TENANT_ROLE}') AS yes`)
  if (!found?.yes) {
    // Two databases of one server may be set up at once.
    await orExplain(
      `DO $$ BEGIN CREATE ROLE ${TENANT_ROLE} NOLOGIN;
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`,
      `CREATE ROLE ${TENANT_ROLE} NOLOGIN`,
    )
  }
  const [allowed] = await ask(`SELECT pg_has_role(current_user, '${TENANT_ROLE}', 'SET') AS yes`)
  if (!allowed?.yes) {
    // From PostgreSQL 16 on, a role with CREATEROLE needs this to assume the role that it created.
    await orExplain(
      `DO $$ BEGIN EXECUTE format('GRANT ${TENANT_ROLE} TO %I WITH SET TRUE, INHERIT FALSE', current_user); END $$`,
      `GRANT ${TENANT_ROLE} TO <this user> WITH SET TRUE, INHERIT FALSE`,
    )
  }

  async function orExplain(text: string, statement: string): Promise<void> {
    try {
      await run({ text, values: [] })
    } catch (error) {
      if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error
      throw new Error(`This database user may not do it, so an administrator has to run: ${statement};`, {
        cause: error,
      })
    }
  }
}

/**
 * Throws if row-level security does not bind the tenant role, since it would not separate organizations then, or if the
 * role lacks rights, since every request would fail: roles are not part of a dump (docs/backup.md).
 */
export async function checkTenantRole(db: Queryable): Promise<void> {
  await checkBinding(db)
  await checkRights(db)
}

async function checkBinding(db: Queryable): Promise<void> {
  const [role] = await db.query<{ superuser: boolean; bypasses: boolean; owns: boolean }>(
    `SELECT rolsuper AS superuser, rolbypassrls AS bypasses,
       EXISTS (SELECT FROM pg_class c WHERE relrowsecurity AND pg_has_role(r.oid, c.relowner, 'MEMBER')) AS owns
     FROM pg_roles r WHERE rolname = '${TENANT_ROLE}'`,
  )
  const fault = !role
    ? 'does not exist'
    : role.superuser
      ? 'is a superuser'
      : role.bypasses
        ? 'has BYPASSRLS'
        : role.owns
          ? 'owns the tables, or is a member of the role that does'
          : null
  if (fault) throw new Error(`The role ${TENANT_ROLE} ${fault}, so it would not keep organizations apart`)
}

/** A table that tenants use has row-level security, a policy and a grant; one that they do not use has neither of both. */
const RIGHTS = `SELECT
    pg_has_role(current_user, '${TENANT_ROLE}', 'SET') AS assumed,
    coalesce(bool_or(is_guarded), false) AS open,
    array_agg(relname::text ORDER BY relname) FILTER (WHERE is_guarded <> is_granted) AS closed,
    array_agg(relname::text ORDER BY relname) FILTER (WHERE NOT is_ours) AS others
  FROM (SELECT relname, EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid) AS is_guarded,
      has_table_privilege('${TENANT_ROLE}', c.oid, 'SELECT') AS is_granted,
      has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') AS is_ours
    FROM pg_class c
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND relrowsecurity) tables`

async function checkRights(db: Queryable): Promise<void> {
  const [rights] = await db.query<{
    assumed: boolean
    open: boolean
    closed: string[] | null
    others: string[] | null
  }>(RIGHTS)
  if (!rights?.assumed) {
    throw new Error(
      `This database user may not assume the role ${TENANT_ROLE}, so an administrator has to run: ` +
        `GRANT ${TENANT_ROLE} TO <this user> WITH SET TRUE, INHERIT FALSE;`,
    )
  }
  if (rights.others) throw lacking('This database user may not use tables', rights.others)
  if (rights.closed || !rights.open)
    throw lacking(`The role ${TENANT_ROLE} lacks policies or grants on tables`, rights.closed ?? ['all'])
}

const MAX_NAMED = 3

function lacking(fault: string, names: string[]): Error {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
  return new Error(
    `${fault} (${names.slice(0, MAX_NAMED).join(', ')}${more}), as after a dump was restored without its roles: ` +
      `restore it into an empty database where the role ${TENANT_ROLE} exists (docs/backup.md).`,
  )
}
