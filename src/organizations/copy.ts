import type { Queryable } from '../../db/client.ts'
import { insertFlows, type NewFlow } from '../../db/queries/flows.ts'
import { insertHub, type NewHub } from '../../db/queries/hubs.ts'
import { insertRoles, type NewRole } from '../../db/queries/roles.ts'

// The table of specification 2.1: what `copyDataFromFirstOrg` takes from one organization into another. Both are named
// in each statement, since this runs across organizations.

/** Language, currency, time zone and settings. */
export async function copySettings(tx: Queryable, from: string, to: string): Promise<void> {
  await tx.query(
    `UPDATE organizations t SET language = s.language, currency = s.currency, time_zone = s.time_zone,
       settings = s.settings
     FROM organizations s WHERE s.id = $1 AND t.id = $2`,
    [from, to],
  )
}

/** Every hub: its owner has access to all of them. The new owner has access to each copy. */
export async function copyHubs(tx: Queryable, from: string, to: string, userId: string): Promise<void> {
  const hubs = await tx.query<NewHub>(
    'SELECT name, lat, lng, address FROM hubs WHERE organization_id = $1 ORDER BY id',
    [from],
  )
  for (const hub of hubs) await insertHub(tx, { ...hub, organizationId: to }, userId)
}

/** Custom roles with their system permissions: those on single data types mean nothing elsewhere. */
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
      permissionDetails: permissionDetails.filter(detail => !detail.dataTypes),
    })),
  )
}

/** Every flow, default ones too, without its data type. Returns their names. */
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
