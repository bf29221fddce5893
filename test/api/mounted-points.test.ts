import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import type { Database } from '../../db/client.ts'
import { type Client, createClient, createDevice, type TestDevice } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { type JsonSchema, listOperations, readDocument, resolveSchema } from '../support/openapi.ts'
import { addHub, addPerson } from '../support/people.ts'
import { openScreen } from '../support/screen.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

/** A device is on a vehicle of hub A in two of the four phases. The longitudes of each phase begin with their number. */
const PHASES = ['before', 'mounted', 'between', 'again'] as const
type Phase = (typeof PHASES)[number]
const isMounted = (phase: Phase) => phase === 'mounted' || phase === 'again'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const END = Math.floor(Date.now() / MINUTE) * MINUTE - 5 * MINUTE
const startOf = (phase: Phase) => END - (PHASES.length - PHASES.indexOf(phase)) * HOUR
const POINTS = PHASES.flatMap((phase, number) =>
  Array.from({ length: 20 }, (_, step) => ({
    lat: 48 + step * 0.0027,
    lng: 120.001 + number + step * 1e-4,
    timestamp: startOf(phase) + step * MINUTE,
  })),
)
const RANGE = `from=${new Date(END - 5 * HOUR).toISOString()}&to=${new Date(END).toISOString()}`

/** The phases whose longitudes are in an answer of any form. */
function phasesIn(answer: unknown): Phase[] {
  const found = [...JSON.stringify(answer ?? '').matchAll(/\b12([0-3])\.\d+/g)].map(([, digit]) => digit)
  return PHASES.filter((_, number) => found.includes(String(number)))
}

interface Subject {
  device: TestDevice
  /** Its own hub. */
  own: 'B' | null
  vehicleId: string
  isOn: boolean
  hasVehicle: boolean
}

/** The hub that a phase belongs to. */
const hubOf = ({ own }: Subject, phase: Phase) => (isMounted(phase) ? 'A' : own)
const isPresent = ({ own, isOn }: Subject, hub: string) => [hub, null].includes(isOn ? 'A' : own)

/** The phases that a member of a hub should see: `seen` are the phases that belong to the hub. */
type Expected = (seen: Phase[], subject: Subject, hub: string) => Phase[]
const ALL: Expected = seen => seen
const MOUNTED: Expected = (seen, { hasVehicle }) => (hasVehicle ? seen.filter(isMounted) : [])
const NEWEST: Expected = seen => seen.slice(-1)
const newestUntil =
  (last: Phase): Expected =>
  seen =>
    seen.filter(phase => PHASES.indexOf(phase) <= PHASES.indexOf(last)).slice(-1)
/** All phases of subjects that are visible now. */
const PRESENT: Expected = (seen, subject, hub) => (isPresent(subject, hub) ? seen : [])
const PRESENT_NEWEST: Expected = (seen, subject, hub) =>
  isPresent(subject, hub) ? seen.filter(phase => phase === 'again') : []

/** An operation that shows points of subjects, a way to ask it, and what it is expected to show. */
type Probe = [path: string, what: string, ask: (client: Client, of: Subject) => Promise<unknown>, Expected]

async function read(client: Client, path: string): Promise<{ data: { subjectId: string }[] } | null> {
  const { status, body } = await client.get(path)
  if (status !== 404) expect(status, path).toBe(200)
  return status === 404 ? null : body
}

/** The entries about one subject in a list for all subjects. */
const about = async (client: Client, path: string, { device }: Subject) =>
  (await read(client, path))?.data.filter(({ subjectId }) => subjectId === device.id)

async function readPages(client: Client, path: string): Promise<unknown[]> {
  const pages: unknown[] = []
  for (let cursor = ''; ; ) {
    const { body } = await client.get(`${path}${cursor}`)
    pages.push(body.data)
    if (!body.pagination.nextCursor) return pages
    cursor = `&cursor=${encodeURIComponent(body.pagination.nextCursor)}`
  }
}

/** The token of a link for the device, or null where the caller may create none. */
async function createLink(client: Client, { device }: Subject): Promise<string | null> {
  const { status, body } = await client.post('/tracking-link', {
    subjectId: device.id,
    subjectType: 'device',
    expiresAt: new Date(Date.now() + HOUR),
    trailMinutes: 360,
  })
  expect([201, 400]).toContain(status)
  return status === 201 ? body.data.token : null
}

const HISTORY = '/location-histories'
const historyOf = (more: string, expected = ALL): Probe => [
  HISTORY,
  more,
  (client, { device }) => read(client, `${HISTORY}?deviceId=${device.id}${more}`),
  expected,
]
const vehicleHistory = (more: string): Probe => [
  HISTORY,
  `vehicle ${more}`,
  (client, { vehicleId }) => read(client, `${HISTORY}?vehicleId=${vehicleId}${more}`),
  MOUNTED,
]

const probesOf = (server: { url: string }): Probe[] => [
  historyOf(''),
  historyOf(`&order=desc&${RANGE}`),
  historyOf('&includeAnomalies=true&bbox=119,47,125,49'),
  historyOf('&simplify=5'),
  historyOf('&maxPoints=40'),
  historyOf('&format=geojson'),
  historyOf('&format=geojson&maxPoints=40'),
  historyOf('&format=gpx&order=desc'),
  historyOf('&format=csv&simplify=5'),
  [
    HISTORY,
    'pages',
    (client, { device }) => readPages(client, `${HISTORY}?deviceId=${device.id}&limit=7`),
    ALL,
  ],
  [
    HISTORY,
    'pages backwards',
    (client, { device }) => readPages(client, `${HISTORY}?deviceId=${device.id}&limit=9&order=desc`),
    ALL,
  ],
  vehicleHistory(''),
  vehicleHistory('&order=desc&limit=30'),
  vehicleHistory('&format=gpx&maxPoints=40'),
  [HISTORY, 'newest', (client, of) => about(client, `${HISTORY}?limit=500`, of), NEWEST],
  [
    HISTORY,
    'newest with anomalies',
    (client, of) => about(client, `${HISTORY}?limit=500&includeAnomalies=true`, of),
    NEWEST,
  ],
  [
    HISTORY,
    'newest of a time',
    (client, of) =>
      about(client, `${HISTORY}?limit=500&from=${new Date(startOf('again')).toISOString()}`, of),
    seen => seen.filter(phase => phase === 'again'),
  ],
  ...PHASES.map((phase): Probe => {
    const to = new Date(startOf(phase) + HOUR).toISOString()
    const ask: Probe[2] = (client, of) => about(client, `${HISTORY}?limit=500&to=${to}`, of)
    return [HISTORY, `newest at the end of ${phase}`, ask, newestUntil(phase)]
  }),
  [
    `${HISTORY}/trips`,
    'trips',
    (client, { device }) => read(client, `${HISTORY}/trips?deviceId=${device.id}&${RANGE}`),
    ALL,
  ],
  [
    `${HISTORY}/trips`,
    'trips of the vehicle',
    (client, { vehicleId }) => read(client, `${HISTORY}/trips?vehicleId=${vehicleId}&${RANGE}`),
    MOUNTED,
  ],
  [
    '/location-history/{id}',
    'points by their identifiers, the ends of each phase among them',
    (client, { device }) =>
      Promise.all(
        POINTS.filter((_, at) => [0, 10, 19].includes(at % 20)).map(({ timestamp }) =>
          read(client, `/location-history/${device.id}_${timestamp}`),
        ),
      ),
    ALL,
  ],
  [
    '/geofence-events',
    'crossings',
    (client, { device }) => read(client, `/geofence-events?subjectId=${device.id}&limit=500`),
    ALL,
  ],
  [
    '/location-history/tracking/{token}',
    'link',
    async (client, of) => {
      const token = await createLink(client, of)
      return token && read(createClient(server, ''), `/location-history/tracking/${token}`)
    },
    PRESENT,
  ],
  [
    '/device/{id}/rejections',
    'rejections',
    (client, { device }) => read(client, `/device/${device.id}/rejections`),
    PRESENT,
  ],
  ['/rejections', 'rejections of all', (client, of) => about(client, '/rejections?limit=500', of), PRESENT],
  [
    '/live',
    'live',
    async (client, { device }) => {
      const screen = await openScreen(server, client.token, { filter: { subjectIds: [device.id] } })
      await until('the snapshot is there', () => screen.snapshots > 0)
      screen.cut()
      return [...screen.positions.values()]
    },
    PRESENT_NEWEST,
  ],
  [
    '/live/tracking/{token}',
    'live link',
    async (client, of) => {
      const token = await createLink(client, of)
      if (!token) return null
      const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/v3/live/tracking/${token}`)
      const [snapshot] = await once(socket, 'message')
      socket.terminate()
      return JSON.parse(String(snapshot))
    },
    PRESENT_NEWEST,
  ],
]

/**
 * Operations that show other places, or the same to those only who see every hub. Messages of a connection are seen by
 * its own hub (test/ingest/tracker-connections.test.ts); those of a profile were pasted by somebody, and
 * what is in a command was written by whoever sent it.
 */
const OTHERS = [
  '/user/{id}/rejections',
  '/device/{id}/diagnosis',
  '/webhook/{id}/deliveries',
  '/tasks',
  '/task/{id}',
  '/connection/{id}/messages',
  '/connection/{id}/unknown',
  '/device/{id}/commands',
  '/tracker-profiles',
  '/tracker-profile/{id}',
]

/** The test sets times of mounts in the database beside the server, which PGlite does not allow. */
describe.runIf(usualKind() === 'postgres')(
  'A point of a device is seen by who may see its vehicle of then:',
  () => {
    const { server, database, owner } = useOrganization()
    let db: Database
    let people: { hub: string; client: Client }[]
    let subjects: Map<string, Subject>

    beforeAll(async () => {
      db = await openTestDatabase(database)
      const hubs = { A: await addHub(owner, 'A'), B: await addHub(owner, 'B') }
      people = await Promise.all(
        Object.entries(hubs).map(async ([hub, id]) => ({
          hub,
          client: (await addPerson(server, owner, { hubId: [id] })).client,
        })),
      )
      const corners = [119, 125].flatMap(lng => [
        [lng, lng === 119 ? 48.02 : 48.2],
        [lng, lng === 119 ? 48.2 : 48.02],
      ])
      const shape = { type: 'polygon', coordinates: [...corners, corners[0]] }
      expect((await owner.post('/geofence', { name: 'North', shape })).status).toBe(201)
      subjects = new Map()
      for (const [name, own, now] of [
        ['taken off', 'B', 'off'],
        ['still on it', 'B', 'on'],
        ['of no hub', null, 'off'],
        ['its vehicle deleted', 'B', 'deleted'],
      ] as const) {
        const device = await createDevice(owner, name)
        if (own) await owner.patch(`/device/${device.id}`, { hubId: hubs[own] })
        const made = await owner.post('/vehicle', { name: `Van ${name}`, hubId: hubs.A })
        const vehicleId: string = made.body.data._id
        for (const phase of PHASES.filter(isMounted)) {
          await owner.patch(`/device/${device.id}`, { vehicleId })
          const isLast = phase === 'again'
          if (!isLast || now === 'off') await owner.patch(`/device/${device.id}`, { vehicleId: null })
          await db.system.query(
            `UPDATE mounts SET mounted_at = $2, unmounted_at = CASE WHEN unmounted_at IS NOT NULL THEN $3::timestamptz END
           WHERE id = (SELECT id FROM mounts WHERE device_id = $1 ORDER BY mounted_at DESC LIMIT 1)`,
            [device.id, new Date(startOf(phase)), new Date(startOf(phase) + HOUR)],
          )
        }
        await send(device)
        if (now === 'deleted') await owner.delete(`/vehicle/${vehicleId}`)
        subjects.set(name, { device, own, vehicleId, isOn: now === 'on', hasVehicle: now !== 'deleted' })
      }
      await until('the crossings are told', async () => {
        const { body } = await owner.get('/geofence-events?limit=500')
        return body.data.length === subjects.size * (2 * PHASES.length - 1)
      })
    })
    afterAll(() => db?.close())

    /** Sends the points, and one in each phase that contradicts another and is rejected. */
    async function send(device: TestDevice): Promise<void> {
      const client = createClient(server, device.key)
      const sent = await client.post('/location-history/bulk', { points: POINTS })
      expect(sent.body.data.accepted).toBe(POINTS.length)
      const points = PHASES.map((_, at) => ({ ...POINTS[at * 20 + 4], lat: 47 }))
      const { body } = await client.post('/location-history/bulk', { points })
      expect(body.data.rejected.map(({ reason }: { reason: string }) => reason)).toEqual(
        PHASES.map(() => 'conflict'),
      )
    }

    it.each(probesOf(server).map(probe => [`${probe[0]} ${probe[1]}`, probe] as const))(
      '%s',
      async (_, probe) => {
        const [, , ask, expected] = probe
        for (const [name, subject] of subjects) {
          for (const { hub, client } of people) {
            const seen = PHASES.filter(phase => [hub, null].includes(hubOf(subject, phase)))
            const shown = phasesIn(await ask(client, subject))
            expect(shown, `${name}, to somebody of ${hub}`).toEqual(expected(seen, subject, hub))
          }
          expect(phasesIn(await ask(owner, subject)), `${name}, to the owner`).toEqual(
            expected([...PHASES], { ...subject, own: null, isOn: false }, 'A'),
          )
        }
      },
    )

    it('every operation that shows points is tried', async () => {
      const document = await readDocument(server)
      const hasPlaces = (schema: JsonSchema | undefined, above: unknown[] = []): boolean => {
        const {
          properties = {},
          items,
          prefixItems = [],
          anyOf = [],
          oneOf = [],
        } = resolveSchema(document, schema)
        if (!schema || above.includes(properties)) return false
        const names = Object.keys(properties)
        if (
          names.includes('payload') ||
          (names.includes('lat') && ['timestamp', 'at'].some(at => names.includes(at)))
        )
          return true
        return [
          ...Object.values(properties),
          ...prefixItems,
          ...anyOf,
          ...oneOf,
          ...(items ? [items] : []),
        ].some(inner => hasPlaces(inner, [...above, properties]))
      }
      const found = listOperations(document)
        .filter(({ method, spec }) => {
          const types = Object.entries(spec.responses['200']?.content ?? {})
          return method === 'get' && types.some(([, { schema }]) => hasPlaces(schema))
        })
        .map(({ path }) => path.replace('/api/v3', ''))
      const tried = new Set([...probesOf(server).map(([path]) => path), ...OTHERS])
      expect(found.filter(path => !tried.has(path))).toEqual([])
      expect([...tried].filter(path => !found.includes(path))).toEqual([
        '/location-histories/trips',
        '/live',
        '/live/tracking/{token}',
      ])
    })
  },
)
