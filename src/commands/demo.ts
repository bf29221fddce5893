import { spawn } from 'node:child_process'
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { joinTracks, readCompany, readRounds } from '../streets/company.ts'
import { createReceiver, hasNetwork } from '../streets/receiver.ts'
import { findOn, placeAt, type Track } from '../streets/track.ts'
import { type Api, createApi, RequestFailed, signIn } from './api.ts'
import { CommandError, listenForStop, runCommand, say } from './command.ts'
import { type Employee, keepDayGoing } from './company-day.ts'
import { DEMO_HELP, readDemoOptions } from './demo-options.ts'
import { type DemoServer, startDemoServer } from './demo-server.ts'
import type { Credentials } from './fleet.ts'
import { openTracker, type Tally, type Tracker } from './tracker.ts'

/**
 * A look at the product: the server with a sample company, whose vehicles drive through San Francisco over real MQTT
 * connections. It uses the public interface alone.
 */
const ASK_EVERY_MS = 300
/** As often as a vehicle reports; the history of a day of the demo has a million points. */
const EVERY_MS = 1_000
const SAY_EVERY_MS = 5_000
const CLOSE_WITHIN_MS = 2_000
const MAX_LISTENERS = 50
const WEEK_MS = 7 * 24 * 3_600_000
const DELETED =
  'The sample company was deleted, so its trackers have no access any more. Start the demo again for a new one.'
const NO_COMPANY =
  'The organization of the demo has no sample company any more, but a hub of its own. Delete the directory of the demo to begin anew.'

interface Vehicle {
  _id: string
  name: string
  deviceId: string
  driverId: string | null
  hubId: string | null
  isSample: boolean
}
interface SampleData {
  status: 'none' | 'creating' | 'there' | 'failed'
  progress: number
  isOffered: boolean
}

async function demo(): Promise<void> {
  const options = readDemoOptions(process.argv.slice(2))
  if (!options) return say(DEMO_HELP)
  const stopping = listenForStop()
  const stop = stopping.signal
  // Each driver listens, in addition to the others.
  setMaxListeners(MAX_LISTENERS, stop)
  say('Starting the server …')
  const server = await startDemoServer(options)
  const trackers: Tracker[] = []
  try {
    await Promise.race([
      drive(server, options.open, trackers, stop),
      server.ended.then(sentence => {
        throw new CommandError(sentence)
      }),
    ])
  } finally {
    stopping.abort()
    await Promise.race([Promise.all(trackers.map(tracker => tracker.close())), sleep(CLOSE_WITHIN_MS)])
    await server.stop()
  }
  say('The demo has stopped. The next run goes on from here.')
}

async function drive(
  server: DemoServer,
  isOpened: boolean,
  trackers: Tracker[],
  stop: AbortSignal,
): Promise<void> {
  const { url, email, password } = server
  const api = createApi(url, await signIn(url, { email, password }))
  await requireCompany(api)
  await warnOfMap(api)
  say(`\n  Open     ${url}\n  Sign in  ${email}, with the password ${password}\n`)
  if (isOpened) openBrowser(url)

  const vehicles = await listVehicles(api, stop)
  const plan = readCompany().vehicles
  const tracks = new Map<string, Track>()
  const driving: { vehicle: Vehicle; driven: ReturnType<typeof driveFrom> }[] = []
  for (const vehicle of vehicles) {
    const planned = plan.find(({ name }) => name === vehicle.name)
    if (!planned || stop.aborted) continue
    const newest = await findNewest(api, vehicle.deviceId, stop)
    if (!newest) continue
    const track = tracks.get(planned.depot.name) ?? joinTracks(await readRounds(planned.depot))
    tracks.set(planned.depot.name, track)
    const driven = driveFrom(track, newest)
    trackers.push(await startTracker(api, server, planned.number, vehicle, driven, stop))
    driving.push({ vehicle, driven })
  }
  if (stop.aborted) return
  say(`${trackers.length} vehicles drive through San Francisco. End with Ctrl-C; the next run goes on.`)
  const link = await createLink(api, vehicles[0]?.deviceId)
  if (link) say(`The link that a customer gets: ${link}`)
  try {
    await Promise.all([reportHistory(api, stop), reportEnd(trackers, stop), work(api, url, driving, stop)])
  } catch (error) {
    // The drivers' sessions end with them, in whichever request.
    const isGone = error instanceof RequestFailed && (await readSampleData(api)).status === 'none'
    throw isGone ? new CommandError(DELETED) : error
  }
}

async function work(
  api: Api,
  url: string,
  driving: readonly { vehicle: Vehicle; driven: ReturnType<typeof driveFrom> }[],
  stop: AbortSignal,
): Promise<void> {
  const employees = await Promise.all(
    driving.map(async ({ vehicle, driven }): Promise<Employee[]> => {
      const user = await signInDriver(api, url, vehicle)
      return user ? [{ ...user, ...driven }] : []
    }),
  )
  await keepDayGoing(api, employees.flat(), stop)
}

/** Orders the company, or goes on with the one that is there. */
async function requireCompany(api: Api): Promise<void> {
  const { status, isOffered } = await readSampleData(api)
  if (status === 'failed') {
    throw new CommandError(
      'The sample company could not be created. Delete the directory of the demo, and start it again.',
    )
  }
  if (isOffered) await api.call('POST', '/organization/sample-data')
  else if (status === 'none') throw new CommandError(NO_COMPANY)
}

const readSampleData = async (api: Api): Promise<SampleData> =>
  (await api.call<{ data: SampleData }>('GET', '/organization/sample-data')).data

/** Says so where the map has no streets. */
async function warnOfMap(api: Api): Promise<void> {
  const { data } = await api.call<{ data: unknown[] }>('GET', '/places?search=Market')
  if (data.length === 0)
    say('The map shows outlines alone: basemap/sanfrancisco.pmtiles is missing or damaged.')
}

async function listVehicles(api: Api, stop: AbortSignal): Promise<Vehicle[]> {
  while (!stop.aborted) {
    const { data } = await api.call<{ data: Vehicle[] }>('GET', '/vehicles?limit=500&sort=createdAt')
    const samples = data.filter(({ isSample, deviceId }) => isSample && deviceId)
    if (samples.length > 0) return samples
    await sleep(ASK_EVERY_MS)
  }
  return []
}

/** The place of a vehicle, as soon as its history has one. */
async function findNewest(
  api: Api,
  deviceId: string,
  stop: AbortSignal,
): Promise<{ lat: number; lng: number } | null> {
  while (!stop.aborted) {
    const query = `deviceId=${deviceId}&order=desc&limit=1`
    const { data } = await api.call<{ data: { lat: number; lng: number }[] }>(
      'GET',
      `/location-histories?${query}`,
    )
    if (data[0]) return data[0]
    await sleep(ASK_EVERY_MS)
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
  api: Api,
  { mqttUrl }: DemoServer,
  number: number,
  { deviceId }: Vehicle,
  { placeAt }: ReturnType<typeof driveFrom>,
  stop: AbortSignal,
): Promise<Tracker> {
  const { data: device } = await api.call<{ data: Credentials }>('POST', `/device/${deviceId}/rotate-key`)
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
  if (failure !== null && !stop.aborted) throw new CommandError(`A tracker cannot connect: ${failure}.`)
  return tracker
}

const TALLY: Tally = {
  ...{ acknowledged: 0, rejected: 0, dropped: 0, lastFailure: '' },
  onRejected: (name, message) => say(`A point of ${name} was rejected: ${message}`),
}

/** Gives the driver of a vehicle a password, since the driver works as a user of its own. */
async function signInDriver(
  api: Api,
  url: string,
  { _id: vehicleId, name, driverId, hubId }: Vehicle,
): Promise<Omit<Employee, 'placeAt' | 'stopAfter'> | null> {
  if (!driverId) return null
  const { data } = await api.call<{ data: { _id: string; name: string; email: string }[] }>(
    'GET',
    `/users?_id=${driverId}`,
  )
  const [user] = data
  if (!user) return null
  const password = crypto.randomUUID()
  await api.call('POST', `/user/${driverId}/reset-password`, { newPassword: password })
  const token = await signIn(url, { email: user.email, password })
  return { name: `${user.name} (${name})`, userId: driverId, vehicleId, hubId, api: createApi(url, token) }
}

async function createLink(api: Api, subjectId: string | undefined): Promise<string | null> {
  if (!subjectId) return null
  const expiresAt = new Date(Date.now() + WEEK_MS).toISOString()
  const body = { subjectId, subjectType: 'device', trailMinutes: 30, expiresAt }
  return (await api.call<{ data: { url: string } }>('POST', '/tracking-link', body)).data.url
}

async function reportHistory(api: Api, stop: AbortSignal): Promise<void> {
  let isCreating = false
  while (!stop.aborted) {
    const { status, progress } = await readSampleData(api)
    if (status !== 'creating') {
      if (isCreating) say('Two weeks of history are there: look at a day in Playback.')
      return
    }
    isCreating = true
    say(`Two weeks of history are being written: ${Math.round(progress * 100)} %`)
    await sleep(SAY_EVERY_MS, undefined, { signal: stop }).catch(() => {})
  }
}

/** Throws when the trackers have lost their access, and resolves when `stop` is aborted. */
async function reportEnd(trackers: readonly Tracker[], stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    if (trackers.every(({ state }) => state === 'denied')) {
      throw new CommandError(DELETED)
    }
    await sleep(ASK_EVERY_MS, undefined, { signal: stop }).catch(() => {})
  }
}

function openBrowser(url: string): void {
  const command = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open'
  const browser = spawn(command, [url], { stdio: 'ignore', detached: true })
  browser.on('error', () => say(`No browser could be opened here: open ${url} yourself.`))
  browser.unref()
}

await runCommand(demo)
