import type { Queryable } from '../../../../db/client.ts'
import { insertSchedules } from '../../../../db/queries/schedules.ts'
import { insertTasks, type NewTask } from '../../../../db/queries/tasks.ts'
import type { HistoryEntry } from '../../../../db/schema/tasks.ts'
import { atOnce } from '../../../../fair/scheduler.ts'
import { planFrom } from '../../schedules/plan.ts'
import { findCustomer, type Plan } from './plan.ts'
import type { Company } from './records.ts'
import type { Visit } from './shifts.ts'
import { ENTERED, FLOWS } from './words.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** The tasks of each vehicle: done ones, and those to come. */
const DONE = 3
const TO_COME = ['on_the_way', 'accepted', 'assigned']
const WAY = ['unassigned', 'assigned', 'accepted', 'on_the_way', 'in_progress', 'completed']
/** Every seventh visit was in vain. */
const FAILS_EVERY = 7
const NOBODYS = ['unassigned', 'unassigned', 'unassigned', 'cancelled', 'cancelled']

/** Creates today's tasks, which go with today's shift of each vehicle, and some that nobody has. */
export async function createTasks(
  tx: Queryable,
  organizationId: string,
  userId: string,
  plan: Plan,
  company: Company,
): Promise<void> {
  const { at, customers } = plan
  const tasks: NewTask[] = []
  const add = (status: string, visit: Visit, customer: number, vehicle: number | null) => {
    const index = tasks.length % FLOWS.length
    const flow = FLOWS[index] as (typeof FLOWS)[number]
    const place = customers[customer]
    const assigneeId = vehicle === null ? null : (company.userIds[vehicle] as string)
    const history = historyOf({ status, visit, at, flow: flow.name, by: assigneeId ?? userId })
    const { lat, lng } = place ?? visit
    tasks.push({
      name: `${index === 0 ? 'Deliver to' : 'Service at'} ${place?.name}`,
      flowId: company.flowIds[index] as string,
      ...{ status, history, isSample: true, assigneeId, scheduleId: null },
      dataIds: [company.customers.ids[customer] as string],
      dataTypeIds: [company.customers.dataTypeId],
      hubId: vehicle === null ? null : hubOf(vehicle),
      teamId: company.teamIds[(vehicle ?? 0) % company.teamIds.length] as string,
      vehicleId: vehicle === null ? null : (company.vehicleIds[vehicle] as string),
      location: { lat, lng, address: place?.address ?? null },
      startTime: new Date(visit.from),
      endTime: new Date(visit.from + HOUR_MS),
      content: Object.assign({}, ...history.map(({ fields }) => fields)),
    })
  }
  const hubOf = (vehicle: number) => {
    const depot = plan.vehicles[vehicle]?.depot
    return company.hubIds[depot ? plan.depots.indexOf(depot) : 0] as string
  }

  for (const [index, vehicle] of plan.vehicles.entries()) {
    const visits = plan
      .drive(vehicle, 0)
      .visits.map(visit => ({ visit, customer: findCustomer(customers, visit) }))
      .filter(({ customer }) => customer >= 0)
    const statusOf = ({ from, to }: Visit) => (to <= at ? 'past' : from <= at ? 'in_progress' : 'to come')
    const past = visits.filter(({ visit }) => statusOf(visit) === 'past').slice(-DONE)
    for (const { visit, customer } of past)
      add(tasks.length % FAILS_EVERY === 3 ? 'failed' : 'completed', visit, customer, index)
    for (const { visit, customer } of visits.filter(({ visit }) => statusOf(visit) === 'in_progress'))
      add('in_progress', visit, customer, index)
    const next = visits.filter(({ visit }) => statusOf(visit) === 'to come')
    for (const [at, status] of TO_COME.entries()) {
      const to = next[at]
      if (to) add(status, to.visit, to.customer, index)
    }
  }
  for (const [index, status] of NOBODYS.entries()) {
    const customer = (index * 7) % customers.length
    const { lat, lng } = customers[customer] as (typeof customers)[number]
    const from = at + (index + 2) * HOUR_MS
    add(status, { lat, lng, from, to: from + HOUR_MS, isAtDepot: false }, customer, null)
  }
  // One that has just been reached shows each state whatever the moment is.
  if (!tasks.some(({ status }) => status === 'in_progress')) {
    const waiting = tasks.find(({ status }) => status === 'on_the_way') as NewTask
    waiting.status = 'in_progress'
    const last = waiting.history.at(-1) as HistoryEntry
    waiting.history.push({ ...last, status: 'in_progress', at: new Date(at).toISOString() })
  }
  await insertTasks(tx, organizationId, tasks)
}

function historyOf({
  status,
  visit,
  at,
  flow,
  by,
}: {
  status: string
  visit: Visit
  at: number
  flow: keyof typeof ENTERED
  by: string
}): HistoryEntry[] {
  const ends = status === 'failed' || status === 'cancelled'
  const before = status === 'failed' ? 'on_the_way' : status === 'cancelled' ? 'unassigned' : status
  const way = [...WAY.slice(0, WAY.indexOf(before) + 1), ...(ends ? [status] : [])]
  const planned: { [status: string]: number } = {
    unassigned: visit.from - 3 * HOUR_MS,
    assigned: visit.from - 2 * HOUR_MS,
    accepted: visit.from - 30 * MINUTE_MS,
    on_the_way: visit.from - 8 * MINUTE_MS,
    in_progress: visit.from,
    completed: visit.to,
    failed: visit.from + 2 * MINUTE_MS,
    cancelled: visit.from - HOUR_MS,
  }
  return way.map((status, index) => {
    // Also for a future visit, each status is in the past and in order.
    const time = Math.min(planned[status] as number, at - (way.length - index) * MINUTE_MS)
    const isThere = WAY.indexOf(status) > WAY.indexOf('on_the_way') || status === 'failed'
    const fields = status === 'completed' || status === 'failed' ? ENTERED[flow][status] : {}
    const { lat, lng } = isThere ? visit : { lat: null, lng: null }
    return { status, at: new Date(time).toISOString(), by, lat, lng, note: null, fields: { ...fields } }
  })
}

/** Creates schedules: an inspection at each depot every Monday, and a delivery on three days of the week. */
export async function createSchedules(
  tx: Queryable,
  organizationId: string,
  { at, depots, customers }: Plan,
  company: Company,
): Promise<void> {
  const tomorrow = new Date(Math.ceil(at / (24 * HOUR_MS)) * 24 * HOUR_MS + 16 * HOUR_MS)
  const nobody = { teamId: null, assigneeId: null, vehicleId: null, content: {} }
  const timed = (byWeekday: ('mon' | 'tue' | 'thu')[]) => {
    const repeat = { frequency: 'weekly' as const, interval: 1, byWeekday }
    const timing = {
      ...{ repeat, startTime: tomorrow, endTime: null, timezone: 'America/Los_Angeles', exceptions: [] },
    }
    return { ...timing, ...atOnce(planFrom(timing, 0, at)) }
  }
  const inspections = depots.map(({ name, lat, lng, address }, index) => ({
    ...{
      name: `Inspect the vehicles, ${name}`,
      ...nobody,
      ...timed(['mon']),
      isSample: true,
      duration: 1800,
    },
    ...{ flowId: company.flowIds[1] as string, hubId: company.hubIds[index] as string },
    ...{ location: { lat, lng, address }, dataIds: [], dataTypeIds: [] },
  }))
  const { name, lat, lng, address } = customers[0] as (typeof customers)[number]
  const delivery = {
    ...{ name: `Deliver to ${name}`, ...nobody, ...timed(['tue', 'thu']), isSample: true, duration: 900 },
    ...{ flowId: company.flowIds[0] as string, hubId: company.hubIds[0] as string },
    ...{ location: { lat, lng, address } },
    ...{ dataIds: [company.customers.ids[0] as string], dataTypeIds: [company.customers.dataTypeId] },
  }
  await insertSchedules(tx, organizationId, [...inspections, delivery])
}
