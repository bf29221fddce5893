import { newId, type Queryable } from '../../../db/client.ts'
import { grantsOf } from '../../../db/grants.ts'
import { insertFlows, type NewFlow } from '../../../db/queries/flows.ts'
import { insertRoles, type NewRole } from '../../../db/queries/roles.ts'

// The table of specification 2.1: what `copyDataFromFirstOrg` copies from one organization to another. Each statement
// names both, since it runs across organizations.

/** Language, currency, time zone and settings. */
export async function copySettings(tx: Queryable, from: string, to: string): Promise<void> {
  await tx.query(
    `UPDATE organizations t SET language = s.language, currency = s.currency, time_zone = s.time_zone,
       settings = s.settings
     FROM organizations s WHERE s.id = $1 AND t.id = $2`,
    [from, to],
  )
}

/** Copies every hub in one statement. The old owner has access to all of them, and the new owner to each copy. */
export async function copyHubs(tx: Queryable, from: string, to: string, userId: string): Promise<void> {
  const [counted] = await tx.query<{ hubs: number }>(
    'SELECT count(*)::int4 AS hubs FROM hubs WHERE organization_id = $1',
    [from],
  )
  const ids = Array.from({ length: counted?.hubs ?? 0 }, newId)
  await tx.query(
    `WITH copied AS (
       INSERT INTO hubs (id, organization_id, name, lat, lng, address)
       SELECT ids.id, $2, old.name, old.lat, old.lng, old.address
       FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM hubs WHERE organization_id = $1) old
       JOIN unnest($4::uuid[]) WITH ORDINALITY AS ids(id, n) USING (n)
       RETURNING id
     )
     INSERT INTO user_hubs (organization_id, user_id, hub_id) SELECT $2, $3, id FROM copied`,
    [from, to, userId, ids],
  )
}

/** Copies custom roles with their system permissions: permissions on single data types mean nothing elsewhere. */
export async function copyRoles(tx: Queryable, from: string, to: string): Promise<void> {
  const roles = await tx.query<NewRole>(
    `SELECT name, permission_details AS "permissionDetails" FROM roles
     WHERE organization_id = $1 AND NOT is_default ORDER BY id`,
    [from],
  )
  await insertRoles(
    tx,
    to,
    roles.map(({ name, permissionDetails }) => ({
      name,
      isDefault: false,
      permissionDetails: grantsOf(permissionDetails).filter(detail => !detail.dataTypes),
    })),
  )
}

/** Copies every flow, including default ones, without its data type. Returns their names. */
export async function copyFlows(tx: Queryable, from: string, to: string): Promise<string[]> {
  const flows = await tx.query<NewFlow & { isDefault: boolean }>(
    `SELECT name, steps, is_default AS "isDefault" FROM flows WHERE organization_id = $1 ORDER BY id`,
    [from],
  )
  await insertFlows(
    tx,
    to,
    flows.map(flow => ({
      ...flow,
      dataTypeId: null,
      steps: flow.steps.map(step => ({
        ...step,
        fields: step.fields.map(field => ({ ...field, dataTypeId: null })),
      })),
    })),
  )
  return flows.map(({ name }) => name)
}
