import type { FastifyRequest } from 'fastify'
import { newId, type Queryable } from '../../../db/client.ts'
import { insertFlows } from '../../../db/queries/flows.ts'
import { insertHub, type NewHub } from '../../../db/queries/hubs.ts'
import {
  countOrganizationsLeft,
  insertOrganization,
  listOwnedOrganizations,
} from '../../../db/queries/organizations.ts'
import { insertRoles } from '../../../db/queries/roles.ts'
import { insertUser } from '../../../db/queries/users.ts'
import { record } from '../../http/audit.ts'
import { conflict, FieldErrors, found } from '../../http/errors.ts'
import { DEFAULT_ROLES } from '../../http/permissions.ts'
import { moveTo, type Opened, openSession, originOf } from '../auth/sign-in.ts'
import { DEFAULT_FLOWS } from '../flows/templates.ts'
import { copyFlows, copyHubs, copyRoles, copySettings } from './copy.ts'
import { orderSampleData } from './sample-data.ts'

/** Specification section 7, case 2, word for word. */
const HUB_REQUIRED = 'Hub name is required when the user has no existing organization.'

const TOO_MANY =
  'This account, with those that it has invited, has as many organizations as it may. Delete one first, or ask whoever runs the server.'

/**
 * Throws 409 if the root of the account has its maximum of organizations (row_caps). A registration creates one in any
 * case.
 */
export async function checkOrganizationsLeft(tx: Queryable, accountId: string): Promise<void> {
  if ((await countOrganizationsLeft(tx, accountId)) <= 0) throw conflict(TOO_MANY, 'too-many-records')
}

/** The hub in a request to create an organization: all three fields or none. */
export interface HubFields {
  hubName?: string
  hubLat?: number
  hubLng?: number
}

export interface NewOrganization {
  organizationName: string
  owner: { accountId: string; name: string }
  hub: NewHub | null
  /** The organization whose settings, hubs, custom roles and flows are copied. */
  copyFrom: string | null
  /** The organization whose hubs are copied. */
  hubsFrom: string | null
}

/**
 * Creates an organization with its owner, default roles, default flows, and copies from another one (specification
 * 4.1), in the given transaction.
 */
export async function createOrganization(
  tx: Queryable,
  { organizationName, owner, hub, copyFrom, hubsFrom }: NewOrganization,
): Promise<{ organizationId: string; userId: string }> {
  const organizationId = newId()
  await insertOrganization(tx, {
    id: organizationId,
    name: organizationName,
    createdBy: owner.accountId,
  })
  const defaultRoles = DEFAULT_ROLES.map(role => ({ ...role, isDefault: true }))
  const [ownerRole] = await insertRoles(tx, organizationId, defaultRoles)
  const userId = await insertUser(tx, {
    organizationId,
    accountId: owner.accountId,
    name: owner.name,
    roleId: ownerRole as string,
    status: 'active',
  })
  const copiedFlows = new Set<string>()
  if (copyFrom) {
    await copySettings(tx, copyFrom, organizationId)
    await copyRoles(tx, copyFrom, organizationId)
    for (const name of await copyFlows(tx, copyFrom, organizationId)) copiedFlows.add(name)
  }
  const templates = DEFAULT_FLOWS.filter(({ name }) => !copiedFlows.has(name))
  await insertFlows(
    tx,
    organizationId,
    templates.map(flow => ({ ...flow, isDefault: true })),
  )
  if (hubsFrom) await copyHubs(tx, hubsFrom, organizationId, userId)
  if (hub) await insertHub(tx, { ...hub, organizationId }, userId)
  return { organizationId, userId }
}

/** The same for a request, with an entry in the audit log and a job for sample data. Signs its owner in to it. */
export async function enterOrganization(
  tx: Queryable,
  request: FastifyRequest,
  organization: NewOrganization,
): Promise<Opened> {
  const { organizationName, owner } = organization
  const { organizationId, userId } = await createOrganization(tx, organization)
  const changes = { name: { to: organizationName } }
  const actor = { organizationId, userId }
  await record(tx, actor, {
    action: 'create',
    resource: 'organization',
    resourceId: organizationId,
    changes,
  })
  await orderSampleData(tx, organizationId)
  const member = { accountId: owner.accountId, organizationId }
  const { caller } = request as Partial<FastifyRequest>
  const opened = caller
    ? await moveTo(tx, caller, organizationId, originOf(request))
    : await openSession(tx, member, originOf(request))
  return found('organization', opened)
}

/**
 * The sources of a new organization's hubs and configuration (specification 2.1 and 4.1): among the organizations that
 * the account owns, the one it joined first; for hubs, the first one that has any.
 */
export async function findSources(
  tx: Queryable,
  accountId: string,
  request: HubFields & { copyDataFromFirstOrg: boolean },
): Promise<Pick<NewOrganization, 'hub' | 'copyFrom' | 'hubsFrom'>> {
  const owned = await listOwnedOrganizations(tx, accountId)
  const withHubs = owned.find(({ hubs }) => hubs > 0)?.id ?? null
  const hub = readHub(request, withHubs === null)
  return {
    hub,
    copyFrom: request.copyDataFromFirstOrg ? (owned[0]?.id ?? null) : null,
    hubsFrom: request.copyDataFromFirstOrg || !hub ? withHubs : null,
  }
}

/** The hub of the request; null if the request names none and none is required. */
function readHub(request: HubFields, required: boolean): NewHub | null {
  const { hubName, hubLat, hubLng } = request
  if (hubName !== undefined && hubLat !== undefined && hubLng !== undefined) {
    return { name: hubName, lat: hubLat, lng: hubLng, address: null }
  }
  const missing = (['hubName', 'hubLat', 'hubLng'] as const).filter(path => request[path] === undefined)
  if (missing.length === 3 && !required) return null
  const message =
    required && hubName === undefined
      ? HUB_REQUIRED
      : `A hub needs its name, latitude and longitude: ${missing.join(' and ')} missing.`
  throw new FieldErrors(
    missing.map(path => ({ path, code: 'required', message: `${path} is required here.` })),
    message,
  )
}
