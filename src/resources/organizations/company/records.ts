import { randomBytes, randomInt } from 'node:crypto'
import { acrossOrganizations, type Queryable } from '../../../../db/client.ts'
import { insertAccount, setRoot } from '../../../../db/queries/accounts.ts'
import { insertRecords, newRecords } from '../../../../db/queries/data.ts'
import { findDataType, insertDataType } from '../../../../db/queries/data-types.ts'
import { insertDevice, mountDevice } from '../../../../db/queries/devices.ts'
import { insertFlows } from '../../../../db/queries/flows.ts'
import { beginFenceChange, insertGeofence } from '../../../../db/queries/geofences.ts'
import { insertHub } from '../../../../db/queries/hubs.ts'
import { insertImport } from '../../../../db/queries/imports.ts'
import { insertJob } from '../../../../db/queries/jobs.ts'
import { backdateMounts, findFieldRole, listNames } from '../../../../db/queries/sample-company.ts'
import { insertTeam } from '../../../../db/queries/teams.ts'
import { insertTrackingLink } from '../../../../db/queries/tracking-links.ts'
import { insertUser, setUserHubs } from '../../../../db/queries/users.ts'
import { insertVehicles } from '../../../../db/queries/vehicles.ts'
import { IMPORT_JOB } from '../../imports/job.ts'
import { createLinkToken } from '../../tracking-links/open-links.ts'
import type { Plan } from './plan.ts'
import {
  CUSTOMER_FIELDS,
  CUSTOMER_TYPE,
  DEPOT_RADIUS_M,
  DRIVERS,
  FENCES,
  FLOWS,
  IMPORT_FILE,
  IMPORT_MAPPING,
  IMPORT_TEXT,
  TEAMS,
} from './words.ts'

const DAY_MS = 24 * 3_600_000
/** Before the first point of the history. */
const FOUNDED_MS = 16 * DAY_MS
const LINK_LASTS_MS = 7 * DAY_MS
const WEEK = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const

/** The owners of the records. */
export interface Founding {
  organizationId: string
  /** The root of the organization (fair/roots.ts), which is that of its drivers' accounts. */
  root: string
  /** The user who ordered the company. */
  userId: string
  importId: string
  plan: Plan
}

/** The company's records that others refer to, in the order of the plan. */
export interface Company {
  hubIds: string[]
  userIds: string[]
  teamIds: string[]
  deviceIds: string[]
  vehicleIds: string[]
  flowIds: string[]
  customers: { dataTypeId: string; ids: string[] }
}

/** Creates the company's records, in one transaction. Returns them. */
export async function createCompany(tx: Queryable, founding: Founding): Promise<Company> {
  const { organizationId, plan } = founding
  const hubIds = await createHubs(tx, founding)
  const hubOf = ({ depot }: Plan['vehicles'][number]) => hubIds[plan.depots.indexOf(depot)] as string
  const hubs = plan.vehicles.map(hubOf)
  const userIds = await createDrivers(tx, founding, hubs)
  const teamIds = await createTeams(tx, organizationId, userIds)
  const { deviceIds, vehicleIds } = await createVehicles(tx, founding, hubs, userIds)
  await createFences(tx, founding, hubIds)
  const flows = await named(tx, organizationId, 'flows', FLOWS)
  const flowIds = await insertFlows(
    tx,
    organizationId,
    flows.map(flow => ({ ...flow, isDefault: false, isSample: true })),
  )
  const customers = await createCustomers(tx, founding)
  const { hash: tokenHash } = createLinkToken()
  await insertTrackingLink(tx, {
    ...{
      organizationId,
      userId: founding.userId,
      subjectId: deviceIds[0] as string,
      taskId: null,
      tokenHash,
    },
    ...{ trailMinutes: 60, expiresAt: new Date(plan.at + LINK_LASTS_MS), isSample: true },
  })
  return { hubIds, userIds, teamIds, deviceIds, vehicleIds, flowIds, customers }
}

async function createHubs(tx: Queryable, { organizationId, userId, plan }: Founding): Promise<string[]> {
  const ids: string[] = []
  for (const { name, lat, lng, address } of plan.depots)
    ids.push(await insertHub(tx, { organizationId, name, lat, lng, address, isSample: true }, userId))
  return ids
}

/** Drivers without a password: nobody signs in as one of them until an administrator sets one. */
async function createDrivers(
  tx: Queryable,
  { organizationId, root }: Founding,
  hubs: readonly string[],
): Promise<string[]> {
  const roleId = await findFieldRole(tx)
  if (!roleId) throw new Error('There is no default role Field user')
  // An address belongs to one account of the whole server, so each company has a domain of its own.
  const domain = `bay-${randomInt(36 ** 5)
    .toString(36)
    .padStart(5, '0')}.example`
  const ids: string[] = []
  for (const [index, hubId] of hubs.entries()) {
    const name = DRIVERS[index % DRIVERS.length] as string
    const email = `${name.toLowerCase().replace(' ', '.')}@${domain}`
    const accountId = await acrossOrganizations(tx, async () => {
      const id = await insertAccount(tx, { email, passwordHash: null, registeredIn: organizationId })
      await setRoot(tx, id, root)
      return id
    })
    const user = { organizationId, accountId, roleId, name, status: 'active' as const, isSample: true }
    const id = await insertUser(tx, user)
    await setUserHubs(tx, organizationId, id, [hubId])
    ids.push(id)
  }
  return ids
}

async function createTeams(
  tx: Queryable,
  organizationId: string,
  userIds: readonly string[],
): Promise<string[]> {
  const ids: string[] = []
  const teams = await named(
    tx,
    organizationId,
    'teams',
    TEAMS.map(name => ({ name })),
  )
  for (const [at, { name }] of teams.entries()) {
    const memberIds = userIds.filter((_, index) => index % TEAMS.length === at)
    const team = { name, hubId: null, memberIds, leaderIds: memberIds.slice(0, 1), isSample: true }
    ids.push(await insertTeam(tx, organizationId, team))
  }
  return ids
}

async function createVehicles(
  tx: Queryable,
  { organizationId, userId, plan }: Founding,
  hubs: readonly string[],
  userIds: readonly string[],
) {
  const vehicleIds = await insertVehicles(
    tx,
    organizationId,
    plan.vehicles.map(({ number, name }, index) => ({
      ...{
        name,
        plate: `SF ${101 + number}`,
        hubId: hubs[index] as string,
        driverId: userIds[index] as string,
      },
      ...{ driverBy: userId, isSample: true, speed: 9 },
      capacity: { weight: 900, volume: 8, units: 60 },
      workingHours: WEEK.map(weekday => ({ weekday, from: '06:00', to: '20:00' })),
      tags: number % 3 === 0 ? ['electric'] : [],
    })),
  )
  const deviceIds: string[] = []
  for (const [index, { name }] of plan.vehicles.entries()) {
    const deviceId = await insertDevice(tx, {
      ...{ organizationId, name: `Tracker ${name}`, hubId: hubs[index] as string, isSample: true },
      // The digest of no key. A tracker connects once somebody asks for a new key.
      ...{ keyHash: randomBytes(32), keyBy: userId },
    })
    await mountDevice(tx, organizationId, deviceId, vehicleIds[index] as string, userId)
    deviceIds.push(deviceId)
  }
  await backdateMounts(tx, deviceIds, new Date(plan.at - FOUNDED_MS))
  return { vehicleIds, deviceIds }
}

async function createFences(
  tx: Queryable,
  { organizationId, plan }: Founding,
  hubIds: readonly string[],
): Promise<void> {
  const shapedAt = new Date(plan.at - FOUNDED_MS)
  await beginFenceChange(tx, organizationId)
  for (const fence of FENCES)
    await insertGeofence(tx, organizationId, { ...fence, hubId: null, isSample: true, shapedAt })
  for (const [index, { name, lat, lng }] of plan.depots.entries()) {
    const shape = { type: 'circle' as const, center: { lat, lng }, radius: DEPOT_RADIUS_M }
    const hubId = hubIds[index] as string
    await insertGeofence(tx, organizationId, { name, hubId, shape, isSample: true, shapedAt })
  }
}

/** Creates the data type and its records, and an import of more whose file is stored already. */
async function createCustomers(
  tx: Queryable,
  { organizationId, userId, importId, plan }: Founding,
): Promise<Company['customers']> {
  return acrossOrganizations(tx, async () => {
    const [{ name }] = (await named(tx, organizationId, 'data_types', [{ name: CUSTOMER_TYPE }])) as [
      { name: string },
    ]
    const dataTypeId = await insertDataType(tx, organizationId, {
      ...{ name, type: 'customer', primaryKey: 'customerNumber', fields: CUSTOMER_FIELDS, isSample: true },
    })
    const type = await findDataType(tx, organizationId, { dataTypeId }, 'FOR SHARE')
    if (!type) throw new Error('The data type has gone')
    const records = newRecords(
      plan.customers.map(({ name, lat, lng, address }, index) => ({
        ...{ customerNumber: `SF-${1001 + index}`, name, address: { lat, lng, address } },
        phone: `+1 415 555 ${String(100 + (index % 100)).padStart(4, '0')}`,
        email: `office@${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.example`,
        since: new Date(plan.at - (index + 1) * 31 * DAY_MS).toISOString().slice(0, 10),
      })),
    )
    await insertRecords(tx, organizationId, type, records, true)
    await insertImport(tx, organizationId, {
      ...{ _id: importId, userId, fileName: IMPORT_FILE, format: 'csv', dataTypeId, dataTypeName: name },
      ...{ mode: 'create', dryRun: false, mapping: IMPORT_MAPPING, primaryKey: type.primaryKey },
      ...{ fileBytes: Buffer.byteLength(IMPORT_TEXT), isSample: true },
    })
    await insertJob(tx, { kind: IMPORT_JOB, organizationId, payload: { importId }, uniqueKey: importId })
    return { dataTypeId, ids: records.map(({ _id }) => _id) }
  })
}

/** The same records under names that are free. */
async function named<T extends { name: string }>(
  tx: Queryable,
  organizationId: string,
  table: 'teams' | 'flows' | 'data_types',
  given: readonly T[],
): Promise<T[]> {
  const taken = await listNames(tx, organizationId, table)
  return given.map(one => {
    let name = one.name
    for (let number = 2; taken.has(name); number++) name = `${one.name} ${number}`
    return { ...one, name }
  })
}
