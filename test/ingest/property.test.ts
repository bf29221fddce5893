import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createDevice, readHistory, signIn } from '../support/client.ts'
import { createTestDatabase, type Kind, postgresMissing, type TestDatabase } from '../support/database.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { openServer, type Server } from '../support/server.ts'

/** Numbers as devices send them, and others at the edges of a column's range. */
const number = fc.oneof(
  fc.double(),
  fc.double({ noNaN: true, min: -200, max: 400 }),
  fc.constantFrom(
    0,
    -0,
    90,
    -90,
    180,
    -180,
    360,
    359.999_999_99,
    1e-320,
    5e-324,
    1.5e-45,
    3.5e38,
    1e308,
    2 ** 53,
  ),
)
const junk = fc.oneof(
  fc.anything({ withNullPrototype: false }),
  fc.json(),
  fc.string({ unit: 'binary' }),
  number,
)
const optional = fc.oneof({ weight: 3, arbitrary: number }, { weight: 1, arbitrary: junk })
const attributes = fc.oneof(
  junk,
  fc.object({ values: [fc.string({ unit: 'binary' }), number, fc.constantFrom('\0', '\ud800', '\\u0000')] }),
  fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })),
)

const now = Date.now()
/** Distinct times, so that no point is a duplicate by chance. */
let tick = 0
const goodTime = fc.constant(null).map(() => now - 1_000_000 + tick++)

const point = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      lat: fc.double({ noNaN: true, min: -90, max: 90 }),
      lng: fc.double({ noNaN: true, min: -180, max: 180 }),
      timestamp: goodTime,
      speed: optional,
      heading: optional,
      accuracy: optional,
      altitude: optional,
      battery: optional,
      attributes,
    }),
  },
  { weight: 1, arbitrary: fc.record({ lat: number, lng: number, timestamp: junk }) },
  { weight: 1, arbitrary: junk },
)

const missing = (kind: Kind) => (kind === 'postgres' ? postgresMissing() : undefined)

describe.each(['pglite', 'postgres'] as const)('Arbitrary JSON that is sent, stored by %s', kind => {
  const reason = missing(kind)
  let database: TestDatabase
  let server: Server
  let owner: Client

  beforeAll(async () => {
    if (reason) return
    database = await createTestDatabase(kind)
    server = await openServer(database)
    owner = await signIn(server)
  })
  afterAll(async () => {
    await server?.stop()
    await database?.remove()
  })

  it('every accepted point is stored, and every other is among the rejections', async context => {
    if (reason) return context.skip(reason)
    await fc.assert(
      fc.asyncProperty(fc.array(point, { minLength: 1, maxLength: 30 }), async points => {
        const device = await createDevice(owner)
        const answer = await owner.post(
          '/location-history/bulk',
          { points: points.map(value => toObject(value)) },
          { authorization: `Bearer ${device.key}` },
        )
        expect([200, 400]).toContain(answer.status)
        const { accepted, duplicates, rejected } = answer.body.data
        expect(accepted + duplicates + rejected.length).toBe(points.length)
        expect(await readHistory(owner, device.id)).toHaveLength(accepted)
        const rejections = await owner.get(`/device/${device.id}/rejections?limit=500`)
        expect(rejections.body.data).toHaveLength(rejected.length)
        expect(rejected.filter((one: { reason: string }) => one.reason === 'unstorable')).toEqual([])
      }),
      { numRuns: 25 },
    )
  })

  it('any bytes over MQTT are acknowledged, and the next good point goes through', async context => {
    if (reason) return context.skip(reason)
    const device = await createDevice(owner)
    const client = await connectDevice(server, device)
    let sent = 0
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map(text => Buffer.from(text)),
        ),
        async bytes => {
          await publish(client, device, Buffer.from(bytes))
          await publish(client, device, { lat: 10, lng: 10, timestamp: now - 2_000_000 + sent++ })
        },
      ),
      { numRuns: 60 },
    )
    const good = (await readHistory(owner, device.id)).filter(
      stored => stored.lat === 10 && stored.lng === 10,
    )
    expect(good).toHaveLength(sent)
    await client.endAsync()
  })
})

/** The value as JSON carries it, or null if JSON cannot carry it. */
function toObject(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value) ?? 'null')
  } catch {
    return null
  }
}
