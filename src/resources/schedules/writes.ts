import { isDeepStrictEqual } from 'node:util'
import type { Database, Queryable } from '../../../db/client.ts'
import { overCap } from '../../../db/errors.ts'
import {
  deleteSchedule,
  findSchedule,
  insertSchedules,
  listSchedulesById,
  type NewSchedule,
  readScheduleDefaults,
  type Schedule,
  type ScheduleDefaults,
  updateSchedule,
} from '../../../db/queries/schedules.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import type { Scheduler } from '../../../fair/scheduler.ts'
import { record } from '../../http/audit.ts'
import { type FieldError, FieldErrors, found, invalid, RequestError } from '../../http/errors.ts'
import { InvalidInput, REPORTING } from '../../http/validation.ts'
import { findDataTypes } from '../tasks/content.ts'
import { typesOf } from '../tasks/new-task.ts'
import { createContentFilter, readTypes } from '../tasks/present.ts'
import { differ } from '../tasks/writes.ts'
import { checkSchedules } from './check.ts'
import { type Budget, MAX_STEPS, type Timing } from './occurrences.ts'
import type { Plan } from './plan.ts'
import { completeTiming, planOrRefuse } from './preview.ts'
import { type NewScheduleBody, newSchedule, type SchedulePatch } from './schemas.ts'

/** A schedule to be written, without the types of its data records. */
type Planned = Omit<NewSchedule, 'dataTypeIds'>

/** A new schedule with its defaults and its first occurrence. Throws 400 if it has none. */
export function* planNew(
  body: NewScheduleBody,
  defaults: ScheduleDefaults,
  budget: Budget,
): Generator<void, Planned> {
  const timing = completeTiming(body, defaults)
  const plan = yield* planOrRefuse(timing, 0, defaults.now, budget)
  return { ...body, flowId: flowOf(body, defaults), ...timing, ...plan }
}

function flowOf({ flowId }: Pick<NewScheduleBody, 'flowId'>, defaults: ScheduleDefaults): string {
  const known = flowId ?? defaults.flowId
  if (known === null) throw invalid('flowId', 'There is no flow yet. Create one first.', 'required')
  return known
}

/** Checks and creates a schedule, with its entry in the audit log. */
export async function createSchedule(tx: Queryable, caller: Caller, schedule: Planned): Promise<Schedule> {
  refuse(await checkSchedules(tx, caller, [{ at: '', schedule }]))
  const [made] = await insert(tx, caller, [schedule])
  return made as Schedule
}

interface Outcome {
  index: number
  status: 'created' | 'failed'
  /** As the caller sees it: all of its content, since the request has set it. */
  schedule?: Omit<Schedule, 'dataTypeIds'>
  errors?: FieldError[]
}

/** The bytes of flows in one answer, which shows the flow of each created schedule. */
const MAX_FLOW_BYTES = 8 * 1024 * 1024

/** Eleven years of days for each of 500 rules: some 2 s, in turns. */
const MAX_LIST_STEPS = 10 * MAX_STEPS

const notCreated = (message: string): FieldError => ({ path: '', code: 'invalid', message })
const NOT_CREATED = notCreated('The server came no further. Send this one again.')

/** The number of schedules written in one transaction, so that nobody waits for a whole list. */
const PIECE = 50

/**
 * Creates each schedule of a list, or reports its errors. A piece that fails as a whole, such as without a turn in the
 * database, fails the request if it is the first one. Later, those that are created must not be created again by a
 * repeated request, so the answer says which are not.
 */
export async function createEach(
  db: Database,
  scheduler: Scheduler,
  caller: Caller,
  given: readonly unknown[],
  onError: (error: unknown) => void,
): Promise<Outcome[]> {
  const { organizationId } = caller
  const defaults = await db.tenant(organizationId, readScheduleDefaults)
  const outcomes: Outcome[] = []
  const answer = { bytesLeft: MAX_FLOW_BYTES }
  const budget = { stepsLeft: MAX_LIST_STEPS }
  for (let from = 0; from < given.length; from += PIECE) {
    try {
      const planned: { index: number; schedule: Planned }[] = []
      for (const [at, body] of given.slice(from, from + PIECE).entries()) {
        const read = await scheduler.walk(organizationId, readOne(body, defaults, budget))
        if ('errors' in read) outcomes.push({ index: from + at, status: 'failed', errors: read.errors })
        else planned.push({ index: from + at, schedule: read.schedule })
      }
      outcomes.push(...(await db.tenant(organizationId, tx => createPiece(tx, caller, planned, answer))))
    } catch (error) {
      if (!outcomes.some(({ status }) => status === 'created')) throw error
      onError(error)
      const tooMany = overCap(error)
      const why = tooMany === null ? NOT_CREATED : notCreated(`${tooMany} Delete some of them first.`)
      const told = new Set(outcomes.map(({ index }) => index))
      for (const index of given.keys())
        if (!told.has(index)) outcomes.push({ index, status: 'failed', errors: [why] })
      break
    }
  }
  return outcomes.sort((a, b) => a.index - b.index)
}

function* readOne(
  body: unknown,
  defaults: ScheduleDefaults,
  budget: Budget,
): Generator<void, { schedule: Planned } | { errors: FieldError[] }> {
  const read = newSchedule.safeParse(body, REPORTING)
  if (!read.success) return { errors: new InvalidInput(read.error.issues).errors }
  try {
    return { schedule: yield* planNew(read.data, defaults, budget) }
  } catch (error) {
    if (error instanceof RequestError && error.details.errors) return { errors: [...error.details.errors] }
    throw error
  }
}

async function createPiece(
  tx: Queryable,
  caller: Caller,
  planned: readonly { index: number; schedule: Planned }[],
  answer: { bytesLeft: number },
): Promise<Outcome[]> {
  const places = planned.map(({ index, schedule }) => ({ at: `${index}.`, schedule }))
  const wrong = new Map<number, FieldError[]>()
  for (const { path, ...error } of await checkSchedules(tx, caller, places, { answer })) {
    const [index, ...rest] = path.split('.')
    const errors = wrong.get(Number(index)) ?? []
    wrong.set(Number(index), [...errors, { path: rest.join('.'), ...error }])
  }
  const right = planned.filter(({ index }) => !wrong.has(index))
  const made = await insert(
    tx,
    caller,
    right.map(({ schedule }) => schedule),
  )
  return [
    ...[...wrong].map(([index, errors]) => ({ index, status: 'failed' as const, errors })),
    ...right.map(({ index }, at) => {
      const { dataTypeIds: _, ...schedule } = made[at] as Schedule
      return { index, status: 'created' as const, schedule }
    }),
  ]
}

async function insert(tx: Queryable, caller: Caller, given: readonly Planned[]): Promise<Schedule[]> {
  const { organizationId } = caller
  const ids = await insertSchedules(tx, organizationId, await withTypes(tx, organizationId, given))
  const made = await listSchedulesById(tx, ids)
  for (const schedule of made) await tell(tx, caller, 'create', null, schedule)
  return made
}

/** Adds the types of the data records, by which the content is restricted. */
async function withTypes<T extends { dataIds: string[] }>(
  tx: Queryable,
  organizationId: string,
  given: readonly T[],
  before?: Schedule,
): Promise<(T & { dataTypeIds: string[] })[]> {
  const dataIds = given.flatMap(({ dataIds }) => dataIds)
  const types = await findDataTypes(tx, organizationId, dataIds)
  return given.map(schedule => {
    const known = schedule.dataIds.map(id => types.get(id)).filter(type => type !== undefined)
    return { ...schedule, dataTypeIds: typesOf(known, before) }
  })
}

/** Computes the complete new fields of a schedule. `hidden` is the content that the caller may not see. */
type Become = (before: Schedule, hidden: Schedule['content']) => NewScheduleBody

/** The result of PUT: missing times stay, and so does content that the caller could not see. */
export const replacing =
  (body: NewScheduleBody): Become =>
  ({ startTime, timezone }, hidden) => ({
    startTime,
    timezone,
    ...body,
    content: { ...hidden, ...body.content },
  })

/** The result of PATCH: the content is merged by key, and null removes a key. */
export const merging =
  (patch: SchedulePatch): Become =>
  before => {
    const content = Object.entries({ ...before.content, ...patch.content }).filter(
      ([, value]) => value !== null,
    )
    return { ...before, ...patch, content: Object.fromEntries(content) }
  }

/** The plan for a changed timing, and the timing from which it was computed. */
interface Replanned {
  of: Basis
  plan: Plan
}
/** The changed schedule, or the timing for which a plan must be computed first. */
type Attempt = { changed: Schedule } | { basis: Basis; now: number }
type Basis = Timing & { before: Timing & Pick<Schedule, 'lastRunAt' | 'skipped'> }

/**
 * Changes a schedule. A changed timing applies from now on, or from the start if no task was created yet; other changes
 * keep the next occurrence. The occurrences are computed without a transaction, and again if the schedule was changed
 * or a task was created meanwhile.
 */
export async function changeSchedule(
  db: Database,
  scheduler: Scheduler,
  caller: Caller,
  id: string,
  become: Become,
): Promise<Schedule> {
  const { organizationId } = caller
  const attempt = (replanned: Replanned | null): Promise<Attempt> =>
    db.tenant(organizationId, tx => tryChange(tx, caller, id, become, replanned))
  let outcome = await attempt(null)
  while (!('changed' in outcome)) {
    const { basis, now } = outcome
    const plan = await scheduler.walk(organizationId, replan(basis, now, { stepsLeft: MAX_STEPS }))
    outcome = await attempt({ of: basis, plan })
  }
  return outcome.changed
}

async function tryChange(
  tx: Queryable,
  caller: Caller,
  id: string,
  become: Become,
  replanned: Replanned | null,
): Promise<Attempt> {
  const before = found('schedule', await findSchedule(tx, id, caller.hubIds, 'FOR UPDATE'))
  const defaults = await readScheduleDefaults(tx)
  const body = become(before, await readHidden(tx, caller, before))
  const timing = completeTiming(body, defaults)
  if (timing.endTime && timing.endTime < timing.startTime) {
    throw invalid('endTime', 'This must not be before startTime.', 'too-early')
  }
  const { nextRunAt, skipped, lastRunAt } = before
  const basis = { ...timing, before: { ...timingOf(before), lastRunAt, skipped } }
  let plan: Plan = { nextRunAt, skipped }
  if (!isDeepStrictEqual(timingOf(before), timing)) {
    if (!replanned || !isDeepStrictEqual(replanned.of, basis)) return { basis, now: defaults.now }
    plan = replanned.plan
  }
  const schedule = { ...pickFields(body), flowId: flowOf(body, defaults), ...timing, ...plan }
  refuse(await checkSchedules(tx, caller, [{ at: '', schedule }], { before }))
  const [typed] = await withTypes(tx, caller.organizationId, [schedule], before)
  await updateSchedule(tx, id, typed as NewSchedule)
  const changed = found('schedule', await findSchedule(tx, id, null))
  await tell(tx, caller, 'update', before, changed)
  return { changed }
}

async function readHidden(tx: Queryable, caller: Caller, schedule: Schedule): Promise<Schedule['content']> {
  const types = await readTypes(tx, caller.organizationId, [schedule])
  const shown = createContentFilter(caller, schedule, types)(schedule.content)
  return Object.fromEntries(Object.entries(schedule.content).filter(([key]) => !Object.hasOwn(shown, key)))
}

export async function removeSchedule(tx: Queryable, caller: Caller, id: string): Promise<void> {
  const before = found('schedule', await findSchedule(tx, id, caller.hubIds))
  await deleteSchedule(tx, id)
  await tell(tx, caller, 'delete', before, null)
}

function tell(
  tx: Queryable,
  caller: Caller,
  action: string,
  before: Schedule | null,
  after: Schedule | null,
): Promise<void> {
  const { _id = null, dataTypeIds = [] } = after ?? before ?? {}
  const changes = differ(before, after)
  return record(tx, caller, { action, resource: 'task-schedule', resourceId: _id, changes, dataTypeIds })
}

function* replan({ before, ...timing }: Basis, now: number, budget: Budget): Generator<void, Plan> {
  const { lastRunAt, skipped } = before
  // An occurrence that was already created is never created again, even if a wrong clock created it before its time.
  const from = lastRunAt ? Math.max(now, lastRunAt.getTime() + 1) : 0
  const plan = yield* planOrRefuse(timing, from, now, budget)
  return { ...plan, skipped: lastRunAt ? skipped : plan.skipped }
}

const timingOf = ({ repeat, startTime, endTime, timezone, exceptions }: Timing): Timing => ({
  repeat,
  startTime,
  endTime,
  timezone,
  exceptions,
})

/** The fields of a schedule in a request's body, without its timing. */
const pickFields = (body: NewScheduleBody) => ({
  name: body.name,
  dataIds: body.dataIds,
  hubId: body.hubId,
  teamId: body.teamId,
  assigneeId: body.assigneeId,
  vehicleId: body.vehicleId,
  location: body.location,
  duration: body.duration,
  content: body.content,
})

function refuse(errors: FieldError[]): void {
  const [first] = errors
  if (first) throw new FieldErrors(errors, first.message)
}
