import type { Queryable } from '../../../db/client.ts'
import { insertSchedules } from '../../../db/queries/schedules.ts'
import { insertTasks, type NewTask, type Place } from '../../../db/queries/tasks.ts'
import { insertVehicles } from '../../../db/queries/vehicles.ts'
import type { HistoryEntry } from '../../../db/schema/tasks.ts'
import type { WorkingHours } from '../../../db/schema/vehicles.ts'
import { atOnce } from '../../../fair/scheduler.ts'
import { planFrom } from '../schedules/plan.ts'
import { listSampleCustomers } from './sample-records.ts'

const WEEK = ['mon', 'tue', 'wed', 'thu', 'fri'] as const
const hours = (from: string, to: string): WorkingHours[] => WEEK.map(weekday => ({ weekday, from, to }))
const noLimits = { maxDistance: null, maxDuration: null, maxStops: null, skills: [] }

const VEHICLES = [
  {
    name: 'Sample van',
    plate: 'SAM 101',
    capacity: { weight: 1200, volume: 11.5, units: 80 },
    speed: 12.5,
    workingHours: hours('08:00', '17:00'),
    tags: ['electric'],
    constraints: { ...noLimits, maxDistance: 220_000, maxStops: 40 },
  },
  {
    name: 'Sample truck',
    plate: 'SAM 102',
    capacity: { weight: 7500, volume: 45, units: null },
    speed: 11,
    workingHours: hours('06:00', '15:00'),
    tags: ['tail lift'],
    constraints: { ...noLimits, skills: ['heavy goods'] },
  },
  {
    name: 'Sample cargo bike',
    capacity: { weight: 120, volume: 0.6, units: 12 },
    speed: 4.5,
    workingHours: [...hours('09:00', '13:00'), ...hours('14:00', '18:00')],
    tags: ['electric', 'town'],
    constraints: { ...noLimits, maxDistance: 40_000 },
  },
]

export async function createSampleVehicles(tx: Queryable, organizationId: string): Promise<void> {
  const [hub] = await tx.query<{ id: string }>('SELECT id FROM hubs ORDER BY id LIMIT 1')
  const vehicles = VEHICLES.map(vehicle => ({ ...vehicle, hubId: hub?.id ?? null, isSample: true }))
  await insertVehicles(tx, organizationId, vehicles)
}

/**
 * The work of a week: day from Monday, hour, flow, name, and the distance from the hub in kilometres east and north.
 */
const WORK: readonly [day: number, hour: number, flow: string, name: string, east: number, north: number][] =
  [
    [0, 9, 'Delivery', 'Deliver bread and rolls', 1.2, 0.4],
    [0, 13, 'Service visit', 'Check the coffee machine', -0.8, 1.1],
    [1, 9, 'Delivery', 'Deliver potting soil', 2.1, -0.9],
    [1, 11, 'Delivery', 'Collect empty boxes', -1.6, -0.7],
    [2, 9, 'Service visit', 'Read the meters', 0.3, 1.9],
    [2, 14, 'Delivery', 'Deliver books', -2.2, 0.5],
    [3, 10, 'Delivery', 'Deliver cleaning agent', 0.9, -1.4],
    [3, 15, 'Service visit', 'Repair the door', 1.7, 1.3],
    [4, 9, 'Delivery', 'Deliver bread and rolls', 1.2, 0.4],
    [4, 12, 'Standard', 'Bring the van to its inspection', -0.5, -2.0],
  ]
const KM_A_DEGREE = 111.32
const HOUR_MS = 3_600_000

/** The statuses that past tasks went through; every fourth one failed, so that there is something to look into. */
const DONE = ['assigned', 'accepted', 'on_the_way', 'in_progress', 'completed']
const FAILED = ['assigned', 'accepted', 'on_the_way', 'failed']
const FIELDS: { [flow: string]: { [status: string]: { [key: string]: unknown } } } = {
  Delivery: {
    completed: { receivedBy: 'Front desk', leftAt: 'recipient' },
    failed: { reason: 'nobody there' },
  },
  'Service visit': { completed: { workDone: 'As ordered' }, failed: { reason: 'The customer was out' } },
  Standard: { failed: { reason: 'No time left' } },
}

/**
 * Creates the tasks of this week around the first hub, in the organization's time zone; past ones are done or failed.
 */
export async function createSampleTasks(tx: Queryable, organizationId: string): Promise<void> {
  const [place] = await tx.query<{ hubId: string | null; lat: number; lng: number; monday: Date; now: Date }>(
    `SELECT h.id AS "hubId", coalesce(h.lat, 52.52) AS lat, coalesce(h.lng, 13.405) AS lng, now() AS now,
       date_trunc('week', now() AT TIME ZONE o.time_zone) AT TIME ZONE o.time_zone AS monday
     FROM organizations o LEFT JOIN LATERAL (SELECT * FROM hubs ORDER BY id LIMIT 1) h ON true`,
  )
  const flows = await tx.query<{ id: string; name: string }>('SELECT id, name FROM flows WHERE is_default')
  const vehicles = await tx.query<{ id: string }>('SELECT id FROM vehicles WHERE is_sample ORDER BY id')
  const customers = await listSampleCustomers(tx, organizationId)
  if (!place) return
  const tasks = WORK.flatMap(([day, hour, flowName, name, east, north], index): NewTask[] => {
    const flow = flows.find(one => one.name === flowName)
    if (!flow) return []
    const startTime = new Date(place.monday.getTime() + (day * 24 + hour) * HOUR_MS)
    const endTime = new Date(startTime.getTime() + HOUR_MS)
    const customer = customers[index % Math.max(1, customers.length)]
    const history = historyOf(flowName, index, startTime, place.now)
    const entered = Object.assign({}, ...history.map(({ fields }) => fields))
    return [
      {
        name,
        flowId: flow.id,
        status: history.at(-1)?.status ?? 'unassigned',
        dataIds: customer ? [customer._id] : [],
        dataTypeIds: customer ? [customer.dataTypeId] : [],
        hubId: place.hubId,
        teamId: null,
        assigneeId: null,
        vehicleId: vehicles[index % Math.max(1, vehicles.length)]?.id ?? null,
        scheduleId: null,
        location: around(place, east, north),
        startTime,
        endTime,
        content: entered,
        history,
        isSample: true,
      },
    ]
  })
  await insertTasks(tx, organizationId, tasks)
}

/** Creates a schedule with a task at the first hub on every Monday from the next one on. */
export async function createSampleSchedules(tx: Queryable, organizationId: string): Promise<void> {
  const [of] = await tx.query<{
    hubId: string | null
    location: Place | null
    flowId: string | null
    timezone: string
    startTime: Date
    now: number
  }>(
    `SELECT h.id AS "hubId", f.id AS "flowId", o.time_zone AS timezone, (extract(epoch FROM now()) * 1000)::float8 AS now,
       CASE WHEN h.id IS NOT NULL THEN json_build_object('lat', h.lat, 'lng', h.lng, 'address', h.address) END AS location,
       (date_trunc('week', now() AT TIME ZONE o.time_zone) + interval '7 days 7 hours 30 minutes') AT TIME ZONE o.time_zone
         AS "startTime"
     FROM organizations o
       LEFT JOIN LATERAL (SELECT * FROM hubs ORDER BY id LIMIT 1) h ON true
       LEFT JOIN LATERAL (SELECT id FROM flows ORDER BY is_default DESC, id LIMIT 1) f ON true`,
  )
  if (!of?.flowId) return
  const { hubId, location, flowId, startTime, timezone, now } = of
  const repeat = { frequency: 'weekly' as const, interval: 1, byWeekday: ['mon' as const] }
  const timing = { repeat, startTime, endTime: null, timezone, exceptions: [] }
  const task = { flowId, hubId, location, duration: 1800, content: {}, dataIds: [], dataTypeIds: [] }
  const nobody = { teamId: null, assigneeId: null, vehicleId: null }
  await insertSchedules(tx, organizationId, [
    {
      name: 'Check the vehicles',
      ...task,
      ...nobody,
      ...timing,
      ...atOnce(planFrom(timing, 0, now)),
      isSample: true,
    },
  ])
}

/** Near a pole a kilometre is many degrees, and longitudes wrap at the antimeridian. */
function around({ lat, lng }: { lat: number; lng: number }, east: number, north: number) {
  const latitude = Math.min(89.9, Math.max(-89.9, lat + north / KM_A_DEGREE))
  const turned = lng + east / (KM_A_DEGREE * Math.cos((latitude * Math.PI) / 180))
  return { lat: latitude, lng: ((((turned + 180) % 360) + 360) % 360) - 180, address: null }
}

function historyOf(flow: string, index: number, startTime: Date, now: Date): HistoryEntry[] {
  const entry = (status: string, at: number): HistoryEntry => ({
    status,
    at: new Date(at).toISOString(),
    by: null,
    lat: null,
    lng: null,
    note: null,
    fields: FIELDS[flow]?.[status] ?? {},
  })
  const begun = Math.min(startTime.getTime() - 2 * HOUR_MS, now.getTime())
  const over = startTime.getTime() + HOUR_MS < now.getTime()
  const way = over ? (index % 4 === 3 ? FAILED : DONE) : []
  return [
    entry('unassigned', begun),
    ...way.map((status, at) =>
      entry(status, startTime.getTime() - HOUR_MS + (at * 2 * HOUR_MS) / way.length),
    ),
  ]
}
