import { isDeepStrictEqual } from 'node:util'
import { isUuid, type Queryable } from '../../../db/client.ts'
import { listVisibleIds } from '../../../db/hub-rule.ts'
import { type Flow, findFlow, listKnownFlows } from '../../../db/queries/flows.ts'
import { listKnownHubs } from '../../../db/queries/hubs.ts'
import type { NewSchedule, Schedule } from '../../../db/queries/schedules.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { isOfTeam } from '../../../db/queries/teams.ts'
import { listKnownUsers } from '../../../db/queries/users.ts'
import { type FieldError, FieldErrors } from '../../http/errors.ts'
import { checkReferences, placed } from '../../http/references.ts'
import { dataAccess } from '../data/access.ts'
import { findDataTypes } from '../tasks/content.ts'
import { checkContent } from '../tasks/writes.ts'

/** The part of a schedule that its tasks take over. */
type Checked = Pick<
  NewSchedule,
  'flowId' | 'dataIds' | 'hubId' | 'teamId' | 'assigneeId' | 'vehicleId' | 'content'
>
type References = Exclude<keyof Checked, 'dataIds' | 'content'>

interface Context {
  before?: Schedule
  /** The bytes that the answer has left for flows. */
  answer?: { bytesLeft: number }
}

const TOO_LONG = 'With this flow the answer would be too long. Create the schedule with another request.'
const NOT_OF_TEAM = 'Only whoever belongs to the team can be given its tasks.'

/**
 * Checks schedules and returns their errors, under the path of each. Every reference must be visible to the caller, or
 * unchanged from the schedule before; the assignee must belong to the team; and the content must fit the flow. A pair of
 * team and assignee, and a value of content, that the schedule has already may stay. The content of each schedule is
 * converted to the form of the flow's fields.
 */
export async function checkSchedules(
  tx: Queryable,
  caller: Caller,
  given: readonly { at: string; schedule: Checked }[],
  { before, answer = { bytesLeft: Number.POSITIVE_INFINITY } }: Context = {},
): Promise<FieldError[]> {
  const { organizationId, hubIds } = caller
  const at = (name: References) =>
    Object.fromEntries(given.map(({ at, schedule }) => [`${at}${name}`, schedule[name]]))
  const dataIds = Object.assign(
    {},
    ...given.map(({ at, schedule }) => placed(`${at}dataIds`, schedule.dataIds)),
  )
  const access = dataAccess(caller, 'view/data')
  const errors = await listErrors(() =>
    checkReferences(
      { what: 'flow', ids: at('flowId'), find: ids => listKnownFlows(tx, ids) },
      {
        what: 'hub',
        ids: at('hubId'),
        find: ids => listKnownHubs(tx, ids, hubIds),
        present: [before?.hubId],
      },
      {
        what: 'team',
        ids: at('teamId'),
        find: ids => listVisibleIds(tx, 'teams', ids, hubIds),
        present: [before?.teamId],
      },
      {
        what: 'user',
        ids: at('assigneeId'),
        find: ids => listKnownUsers(tx, { ...caller, scope: 'all' }, ids),
        present: [before?.assigneeId],
      },
      {
        what: 'vehicle',
        ids: at('vehicleId'),
        find: ids => listVisibleIds(tx, 'vehicles', ids, hubIds),
        present: [before?.vehicleId],
      },
      {
        what: 'data source',
        ids: dataIds,
        find: async ids => {
          const found = await findDataTypes(tx, organizationId, ids)
          return new Set([...found].filter(([, type]) => access.grants(type)).map(([id]) => id))
        },
        present: before?.dataIds,
      },
    ),
  )
  const flows = new Map<string, { flow: Flow; bytes: number } | null>()
  for (const { at, schedule } of given) {
    const { teamId, assigneeId, flowId } = schedule
    const isOther = teamId !== before?.teamId || assigneeId !== before?.assigneeId
    if (isOther && isUuid(teamId) && isUuid(assigneeId) && !(await isOfTeam(tx, teamId, assigneeId)))
      errors.push({ path: `${at}assigneeId`, code: 'invalid', message: NOT_OF_TEAM })
    if (answer.bytesLeft >= 0 && !flows.has(flowId)) flows.set(flowId, await measureFlow(tx, flowId))
    const measured = flows.get(flowId)
    answer.bytesLeft -= measured?.bytes ?? 0
    if (answer.bytesLeft < 0) errors.push({ path: `${at}flowId`, code: 'too-large', message: TOO_LONG })
    if (!measured) continue
    const { flow } = measured
    const wrong = await listErrors(async () => {
      const { content } = schedule
      const checked = await checkContent(tx, organizationId, flow, changedContent(schedule, before))
      schedule.content = { ...content, ...checked }
    })
    errors.push(...wrong.map(error => ({ ...error, path: `${at}${error.path}` })))
  }
  return errors
}

/** The values of content that are held to the flow: all of them for another flow, else those that differ. */
function changedContent({ flowId, content }: Checked, before: Schedule | undefined): Checked['content'] {
  if (flowId !== before?.flowId) return content
  return Object.fromEntries(
    Object.entries(content).filter(([key, value]) => !isDeepStrictEqual(value, before.content[key])),
  )
}

/** Finds a flow and locks it until the transaction ends, so that its counted length stays correct. */
async function measureFlow(tx: Queryable, flowId: string): Promise<{ flow: Flow; bytes: number } | null> {
  const flow = isUuid(flowId) ? await findFlow(tx, flowId, 'FOR SHARE') : null
  return flow && { flow, bytes: Buffer.byteLength(JSON.stringify(flow.steps)) }
}

async function listErrors(work: () => Promise<void>): Promise<FieldError[]> {
  try {
    await work()
    return []
  } catch (error) {
    if (error instanceof FieldErrors) return [...(error.details.errors ?? [])]
    throw error
  }
}
