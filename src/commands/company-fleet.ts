import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { components, Fieldline } from '#client'
import { joinTracks, readCompany, readRounds } from '../streets/company.ts'
import { createReceiver, hasNetwork } from '../streets/receiver.ts'
import { findOn, placeAt, type Track } from '../streets/track.ts'
import { CommandError, say } from './command.ts'
import { type Employee, keepDayGoing } from './company-day.ts'
import type { DemoServer } from './demo-server.ts'
import { isRefused, signIn } from './sign-in.ts'
import { openTracker, type Tally, type Tracker } from './tracker.ts'
import { keepTrying, pause } from './working-day.ts'

/** The vehicles and drivers of the sample company, as clients of the public interface. */
const ASK_EVERY_MS = 300
/** As often as a vehicle reports; the history of a day of the demo has a million points. */
const EVERY_MS = 1_000
/** How late a deletion is noticed. */
const WATCH_EVERY_MS = 2_000
const CLOSE_WITHIN_MS = 2_000
const MAX_LISTENERS = 50

/** A vehicle that has a tracker. */
type Vehicle = components['schemas']['Vehicle'] & { deviceId: string }
interface Driving {
  vehicle: Vehicle
  driven: ReturnType<typeof driveFrom>
}

/**
 * Waits for the company, and drives its vehicles until it is deleted or `stop` is aborted. `onDriving` is called with the devices
 * once all vehicles are on their way.
 */
export async function driveCompany(
  client: Fieldline,
  server: DemoServer,
  onDriving: (deviceIds: string[], over: AbortSignal) => Promise<void>,
  stop: AbortSignal,
): Promise<void> {
  const vehicles = await awaitVehicles(client, stop)
  const gone = new AbortController()
  const over = AbortSignal.any([stop, gone.signal])
  // Each driver listens, in addition to the others.
  setMaxListeners(MAX_LISTENERS, over)
  const trackers: Tracker[] = []
  const drive = async () => {
    const driving = await startVehicles(client, server, vehicles, trackers, over)
    if (over.aborted) return
    say(`${trackers.length} vehicles drive through San Francisco. End with Ctrl-C; the next run goes on.`)
    const deviceIds = driving.map(({ vehicle }) => vehicle.deviceId)
    await Promise.all([onDriving(deviceIds, over), work(client, driving, over)])
  }
  try {
    await Promise.all([drive(), awaitDeletion(client, vehicles, over).then(() => gone.abort())])
  } catch (error) {
    // A request for something that was deleted comes before the deletion is noticed.
    if (!isRefused(error) || (await areThere(client, vehicles))) throw error
  } finally {
    gone.abort()
    await Promise.race([Promise.all(trackers.map(tracker => tracker.close())), sleep(CLOSE_WITHIN_MS)])
  }
}

async function listVehicles(client: Fieldline): Promise<Vehicle[]> {
  const query = { limit: 500, sort: 'createdAt' } as const
  const { data } = await client.get('/vehicles', { params: { query } })
  return data.filter((vehicle): vehicle is Vehicle => vehicle.isSample && vehicle.deviceId !== null)
}

async function awaitVehicles(client: Fieldline, stop: AbortSignal): Promise<Vehicle[]> {
  while (!stop.aborted) {
    const vehicles = (await keepTrying(stop, () => listVehicles(client))) ?? []
    if (vehicles.length > 0) return vehicles
    await pause(ASK_EVERY_MS, stop)
  }
  return []
}

/** Whether any of these vehicles is there: a new company has others. */
async function areThere(client: Fieldline, vehicles: readonly Vehicle[]): Promise<boolean> {
  const ids = new Set(vehicles.map(({ _id }) => _id))
  return (await listVehicles(client)).some(({ _id }) => ids.has(_id))
}

async function awaitDeletion(
  client: Fieldline,
  vehicles: readonly Vehicle[],
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    await pause(WATCH_EVERY_MS, over)
    if ((await keepTrying(over, () => areThere(client, vehicles))) === false) return
  }
}

async function startVehicles(
  client: Fieldline,
  server: DemoServer,
  vehicles: readonly Vehicle[],
  trackers: Tracker[],
  over: AbortSignal,
): Promise<Driving[]> {
  const plan = readCompany().vehicles
  const tracks = new Map<string, Track>()
  const driving: Driving[] = []
  for (const vehicle of vehicles) {
    const planned = plan.find(({ name }) => name === vehicle.name)
    if (!planned || over.aborted) continue
    const newest = await findNewest(client, vehicle.deviceId, over)
    if (!newest) continue
    const track = tracks.get(planned.depot.name) ?? joinTracks(await readRounds(planned.depot))
    tracks.set(planned.depot.name, track)
    const driven = driveFrom(track, newest)
    trackers.push(await startTracker(client, server, planned.number, vehicle, driven, over))
    driving.push({ vehicle, driven })
  }
  return driving
}

/** The place of a vehicle, as soon as its history has one. */
async function findNewest(
  client: Fieldline,
  deviceId: string,
  over: AbortSignal,
): Promise<{ lat: number; lng: number } | null> {
  while (!over.aborted) {
    const query = { deviceId, order: 'desc', limit: 1 } as const
    const { data } = await client.get('/location-histories', { params: { query } })
    if (data[0]) return data[0]
    await pause(ASK_EVERY_MS, over)
  }
  return null
}

/** Drives a track from the place where the vehicle is. */
function driveFrom(track: Track, newest: { lat: number; lng: number }) {
  const startS = findOn(track, newest).seconds
  const startedAt = Date.now()
  const secondsAt = (now: number) => startS + (now - startedAt) / 1000
  const stops = track.legs.filter(({ isParked }) => isParked)
  return {
    placeAt: (now: number) => placeAt(track, secondsAt(now)),
    stopAfter(now: number, aheadS: number) {
      const from = (secondsAt(now) + aheadS) % track.seconds
      const next = stops.find(({ fromS }) => fromS > from) ?? stops[0]
      const waitS = ((next?.fromS ?? 0) - from + track.seconds) % track.seconds
      const { lat, lng } = next?.from ?? newest
      return { at: now + (aheadS + waitS) * 1000, lat, lng }
    },
  }
}

async function startTracker(
  client: Fieldline,
  { mqttUrl }: DemoServer,
  number: number,
  { deviceId }: Vehicle,
  { placeAt }: ReturnType<typeof driveFrom>,
  over: AbortSignal,
): Promise<Tracker> {
  const { data: device } = await client.post('/device/{id}/rotate-key', {
    params: { path: { id: deviceId } },
  })
  const receive = createReceiver(number)
  const tracker = openTracker({
    url: mqttUrl,
    device,
    read: now => receive(placeAt(now), now),
    hasNetwork: now => hasNetwork(number, now),
    everyMs: EVERY_MS,
    delayMs: 0,
    tally: TALLY,
  })
  const failure = await tracker.firstAttempt
  if (failure !== null && tracker.state !== 'denied' && !over.aborted)
    throw new CommandError(`A tracker cannot connect: ${failure}.`)
  return tracker
}

const TALLY: Tally = {
  ...{ acknowledged: 0, rejected: 0, dropped: 0, lastFailure: '' },
  onRejected: (name, message) => say(`A point of ${name} was rejected: ${message}`),
}

async function work(client: Fieldline, driving: readonly Driving[], over: AbortSignal): Promise<void> {
  const employees = await Promise.all(
    driving.map(async ({ vehicle, driven }): Promise<Employee[]> => {
      const user = await signInDriver(client, vehicle)
      return user ? [{ ...user, ...driven }] : []
    }),
  )
  await keepDayGoing(client, employees.flat(), over)
}

/** Gives the driver of a vehicle a password, since the driver works as a user of its own. */
async function signInDriver(
  client: Fieldline,
  { _id: vehicleId, name, driverId, hubId }: Vehicle,
): Promise<Omit<Employee, 'placeAt' | 'stopAfter'> | null> {
  if (!driverId) return null
  const { data } = await client.get('/users', { params: { query: { _id: driverId } } })
  const [user] = data
  if (!user) return null
  const password = crypto.randomUUID()
  try {
    await client.post('/user/{id}/reset-password', {
      params: { path: { id: driverId } },
      body: { newPassword: password },
    })
    const own = await signIn(client.baseUrl, { email: user.email, password })
    return { name: `${user.name} (${name})`, userId: driverId, vehicleId, hubId, client: own }
  } catch (error) {
    // Somebody has suspended this driver: the vehicle drives without tasks.
    if (!isRefused(error)) throw error
    say(`${user.name} (${name}) does no tasks: ${error.message}`)
    return null
  }
}
