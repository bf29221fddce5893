import type { Fieldline } from '#client'
import { ROUTES_CREDIT, readRoutes } from '../streets/routes.ts'
import { createTrack, type Place, placeAt, type Track } from '../streets/track.ts'
import { readTrace, TRACES, type TraceName } from './traces.ts'

/** A vehicle, and its true place after some seconds of driving. */
export interface Vehicle {
  name: string
  placeAt: (seconds: number) => Place
}

/** A device with the key for its connection. */
export interface Credentials {
  _id: string
  name: string
  key: string
}

const PAGE = 500
/** The number of simultaneous requests. */
const AT_ONCE = 8
/** The fractions of its multiples are spread evenly over 0 to 1. */
const GOLDEN_RATIO = 0.618034

/** Creates vehicles that drive through San Francisco, or on the tracks of a recording. */
export function createFleet(
  trace: TraceName | undefined,
  count: number,
): { vehicles: Vehicle[]; credit: string } {
  const indexes = Array.from({ length: count }, (_, index) => index)
  if (!trace) {
    const routes = readRoutes()
    const vehicles = indexes.map(index => ({
      name: `van-${index + 1}`,
      placeAt: drive(routes, index, count),
    }))
    return { vehicles, credit: ROUTES_CREDIT }
  }
  const tracks = readTracks(trace)
  const names = nameVehicles([...tracks.keys()], count)
  const vehicles = names.map((name, index) => ({ name, placeAt: drive([...tracks.values()], index, count) }))
  return { vehicles, credit: `the tracks of ${TRACES[trace].credit}` }
}

function readTracks(name: TraceName): Map<string, Track> {
  const tracks = new Map<string, Track>()
  for (const [vehicle, fixes] of readTrace(name)) {
    const track = createTrack(fixes)
    if (track) tracks.set(vehicle, track)
  }
  return tracks
}

/** The drive of one of `count` vehicles. Those that share a track are spread over it evenly. */
function drive(tracks: readonly Track[], index: number, count: number): Vehicle['placeAt'] {
  const which = index % tracks.length
  const track = tracks[which] as Track
  const round = Math.floor(index / tracks.length) / Math.ceil(count / tracks.length)
  // Each track is entered elsewhere, since all of them begin with a stop.
  const headStartS = ((round + which * GOLDEN_RATIO) % 1) * track.seconds
  return seconds => placeAt(track, headStartS + seconds)
}

/** Names for `count` vehicles: the recorded ones first, then each again with a number. */
function nameVehicles(recorded: readonly string[], count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const name = recorded[index % recorded.length] as string
    const round = Math.floor(index / recorded.length)
    return round === 0 ? name : `${name}-${round + 1}`
  })
}

/** Prepares a device for each name, in order: an existing device gets a new key, the others are created. */
export async function prepareDevices(
  client: Fieldline,
  names: readonly string[],
  onReady: (ready: number) => void = () => {},
): Promise<{ devices: Credentials[]; created: number }> {
  const known = await listDevicesByName(client)
  const devices: Credentials[] = []
  let next = 0
  let ready = 0
  const work = async () => {
    for (let index = next++; index < names.length; index = next++) {
      const name = names[index] as string
      const id = known.get(name)
      const { data } = id
        ? await client.post('/device/{id}/rotate-key', { params: { path: { id } } })
        : await client.post('/device', { body: { name } })
      devices[index] = data
      onReady(++ready)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { devices, created: names.filter(name => !known.has(name)).length }
}

async function listDevicesByName(client: Fieldline): Promise<Map<string, string>> {
  const known = new Map<string, string>()
  for await (const { _id, name } of client.records('/devices', { params: { query: { limit: PAGE } } }))
    if (!known.has(name)) known.set(name, _id)
  return known
}
