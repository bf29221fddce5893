import type { components, Fieldline } from '#client'
import { distanceM, type Place } from '../streets/track.ts'
import { say } from './command.ts'
import { isRefused } from './sign-in.ts'
import { between, type Flow, fillFields, keepTrying, pause, setStatus, TAKEN_AWAY } from './working-day.ts'

/**
 * Keeps the day of the sample company going. A driver goes on with the tasks that the company has for the day; whoever has
 * none left gets one at a stop on the way ahead. Drivers accept, drive there, and complete most of them.
 */
export interface Employee {
  name: string
  userId: string
  vehicleId: string
  hubId: string | null
  /** Signed in as this user. */
  client: Fieldline
  placeAt: (now: number) => Place
  /** The next stop at a customer that is further away than `aheadS` seconds of driving. */
  stopAfter: (now: number, aheadS: number) => { at: number; lat: number; lng: number }
}

type Task = components['schemas']['Task']
interface Customer {
  _id: string
  data: { name: string; address?: { lat: number; lng: number; address?: string } }
}

const FLOW = 'Parcel delivery'
const OPEN = ['in_progress', 'on_the_way', 'accepted', 'assigned']
const WAY = ['assigned', 'accepted', 'on_the_way', 'in_progress']
const THERE_M = 60
/** The stop of a new task, in seconds of driving. */
const AHEAD_S = 30
const LOOK_EVERY_MS = 1_000
/** A driver who does not get there gives up, since the round leads elsewhere. */
const GIVE_UP_MS = 15 * 60_000
const STEP_MS = { least: 2, most: 6 }
const WORK_S = { least: 4, most: 12 }
const FAILING = 0.12
/** Longer than a deletion of the whole company takes to be noticed, which ends everybody's work. */
const REFUSED_MS = 10_000
const SIGNED_OUT = 401

/** Resolves when `stop` is aborted. */
export async function keepDayGoing(
  client: Fieldline,
  employees: readonly Employee[],
  stop: AbortSignal,
): Promise<void> {
  const flows = (await client.get('/flows', { params: { query: { limit: 500 } } })).data
  const customers = await listCustomers(client)
  await Promise.all(
    employees.map(async (employee, index) => {
      await pause(index * 700, stop)
      while (!stop.aborted) {
        try {
          const task =
            (await findTask(client, employee, stop)) ??
            (await giveTask(client, employee, flows, customers, stop))
          const flow = flows.find(({ _id }) => _id === task?.flowId)
          if (task && flow) await carryOut(employee, task, flow, stop)
          await pause(between(STEP_MS) * 1000, stop)
        } catch (error) {
          // Somebody has deleted a customer or this driver on a screen: the others go on.
          if (!isRefused(error)) throw error
          await pause(REFUSED_MS, stop)
          if (!stop.aborted) say(`${employee.name} waits for the next task: ${error.message}`)
          if (error.status === SIGNED_OUT) return
        }
      }
    }),
  )
}

async function listCustomers(client: Fieldline): Promise<Customer[]> {
  const { data } = await client.get('/data', { params: { query: { limit: 500 } } })
  return data.filter(({ isSample, data }) => isSample && data.address) as unknown as Customer[]
}

/** The task that the driver is to do next. */
async function findTask(client: Fieldline, { userId }: Employee, stop: AbortSignal): Promise<Task | null> {
  const query = { assigneeId: userId, status: OPEN.join(','), sort: 'startTime', limit: 20 } as const
  const answer = await keepTrying(stop, () => client.get('/tasks', { params: { query } }))
  const tasks = answer?.data ?? []
  // Tasks that have begun come first.
  return OPEN.map(wanted => tasks.find(({ status }) => status === wanted)).find(Boolean) ?? null
}

async function giveTask(
  client: Fieldline,
  { userId, vehicleId, hubId, stopAfter }: Employee,
  flows: readonly Flow[],
  customers: readonly Customer[],
  stop: AbortSignal,
): Promise<Task | null> {
  const { at, lat, lng } = stopAfter(Date.now(), AHEAD_S)
  const customer = customers.find(
    ({ data }) => data.address && distanceM(data.address, { lat, lng }) < THERE_M,
  )
  const flow = flows.find(({ name }) => name.startsWith(FLOW)) ?? flows[0]
  const body = {
    name: customer ? `Deliver to ${customer.data.name}` : 'Deliver a parcel',
    ...{ flowId: flow?._id, assigneeId: userId, vehicleId, hubId, dataIds: customer ? [customer._id] : [] },
    location: { lat, lng, address: customer?.data.address?.address ?? null },
    startTime: new Date(at).toISOString(),
    endTime: new Date(at + 20 * 60_000).toISOString(),
  }
  return (await keepTrying(stop, () => client.post('/task', { body })))?.data ?? null
}

async function carryOut(
  { name, client, placeAt }: Employee,
  task: Task,
  flow: Flow,
  stop: AbortSignal,
): Promise<void> {
  const move = async (status: string): Promise<boolean> => {
    const now = Date.now()
    const { lat, lng } = placeAt(now)
    const body = { status, at: new Date(now).toISOString(), lat, lng, fields: fillFields(flow, status) }
    try {
      return (await keepTrying(stop, () => setStatus(client, task._id, body))) !== null
    } catch (error) {
      // It was changed or deleted on a screen meanwhile.
      if (isRefused(error) && TAKEN_AWAY.includes(error.status)) return false
      throw error
    }
  }
  const isThere = () => !task.location || distanceM(placeAt(Date.now()), task.location) < THERE_M

  let arrives = true
  for (const status of WAY.slice(WAY.indexOf(task.status) + 1)) {
    if (status === 'in_progress') {
      const givesUpAt = Date.now() + GIVE_UP_MS
      while (!stop.aborted && !isThere() && Date.now() < givesUpAt) await pause(LOOK_EVERY_MS, stop)
      arrives = isThere() && Math.random() >= FAILING
      if (stop.aborted || !arrives) break
    }
    if (!(await move(status))) return
    await pause(between(STEP_MS) * 1000, stop)
  }
  if (stop.aborted) return
  if (arrives) await pause(between(WORK_S) * 1000, stop)
  const end = arrives ? 'completed' : 'failed'
  if (!stop.aborted && (await move(end))) say(`${name} has ${end} ${task.code}.`)
}
