import { acrossOrganizations, isUuid, type Queryable } from '../../../db/client.ts'
import { lockRecords } from '../../../db/queries/data.ts'
import { type Flow, findFlow, listKnownFlows } from '../../../db/queries/flows.ts'
import { listKnownHubs } from '../../../db/queries/hubs.ts'
import type { NewSchedule, Schedule } from '../../../db/queries/schedules.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { isOfTeam, listKnownTeams } from '../../../db/queries/teams.ts'
import { listKnownUsers } from '../../../db/queries/users.ts'
import { listKnownVehicles } from '../../../db/queries/vehicles.ts'
import { type FieldError, FieldErrors } from '../../http/errors.ts'
import { checkReferences, placed } from '../../http/references.ts'
import { dataAccess } from '../data/access.ts'
import { checkContent } from '../tasks/writes.ts'

/** What the tasks of a schedule refer to and hold. */
type Checked = Pick<
  NewSchedule,
  'flowId' | 'dataIds' | 'hubId' | 'teamId' | 'assigneeId' | 'vehicleId' | 'content'
>
type References = Exclude<keyof Checked, 'dataIds' | 'content'>

const NOT_OF_TEAM = 'Only whoever belongs to the team can be given its tasks.'

/**
 * What is wrong with schedules, under the place of each: what they refer to has to be there for the caller, or be what a
 * schedule refers to already, the assignee has to be of the team, and the content has to fit the flow. Brings the content of
 * each into the form of the flow's fields.
 */
export async function checkSchedules(
  tx: Queryable,
  caller: Caller,
  given: readonly { at: string; schedule: Checked }[],
  before?: Schedule,
): Promise<FieldError[]> {
  const { organizationId, hubIds } = caller
  const at = (name: References) =>
    Object.fromEntries(given.map(({ at, schedule }) => [`${at}${name}`, schedule[name]]))
  const dataIds = Object.assign(
    {},
    ...given.map(({ at, schedule }) => placed(`${at}dataIds`, schedule.dataIds)),
  )
  const access = dataAccess(caller, 'view/data')
  const present = before
    ? [
        before.flowId,
        before.hubId,
        before.teamId,
        before.assigneeId,
        before.vehicleId,
        ...before.dataIds,
      ].filter(id => id !== null)
    : []
  const errors = await listErrors(() =>
    checkReferences(
      { what: 'flow', ids: at('flowId'), find: ids => listKnownFlows(tx, ids), present },
      { what: 'hub', ids: at('hubId'), find: ids => listKnownHubs(tx, ids, hubIds), present },
      { what: 'team', ids: at('teamId'), find: ids => listKnownTeams(tx, ids, hubIds), present },
      { what: 'user', ids: at('assigneeId'), find: ids => listKnownUsers(tx, caller, ids), present },
      { what: 'vehicle', ids: at('vehicleId'), find: ids => listKnownVehicles(tx, ids, hubIds), present },
      {
        what: 'data source',
        ids: dataIds,
        find: async ids => {
          const found = await findDataTypes(tx, organizationId, ids)
          return new Set([...found].filter(([, type]) => access.grants(type)).map(([id]) => id))
        },
        present,
      },
    ),
  )
  const flows = new Map<string, Flow | null>()
  for (const { at, schedule } of given) {
    const { teamId, assigneeId, flowId } = schedule
    if (isUuid(teamId) && isUuid(assigneeId) && !(await isOfTeam(tx, teamId, assigneeId)))
      errors.push({ path: `${at}assigneeId`, message: NOT_OF_TEAM })
    if (!flows.has(flowId)) flows.set(flowId, isUuid(flowId) ? await findFlow(tx, flowId) : null)
    const flow = flows.get(flowId)
    if (!flow) continue
    const wrong = await listErrors(async () => {
      schedule.content = await checkContent(tx, organizationId, flow, schedule.content)
    })
    errors.push(...wrong.map(({ path, message }) => ({ path: `${at}${path}`, message })))
  }
  return errors
}

async function listErrors(work: () => Promise<void>): Promise<FieldError[]> {
  try {
    await work()
    return []
  } catch (error) {
    if (error instanceof FieldErrors) return error.details.errors as FieldError[]
    throw error
  }
}

/** The types of data records that are there, by their identifiers. */
export function findDataTypes(
  tx: Queryable,
  organizationId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  return acrossOrganizations(tx, () => lockRecords(tx, organizationId, ids, ''))
}
