import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { insertDevice } from '../../db/queries/devices.ts'
import { type LivePositions, openLivePositions } from '../../stream/live/positions.ts'
import { firstMotion, stateAt, updateMotion } from '../../stream/live/presence.ts'
import { createWheel } from '../../stream/live/wheel.ts'
import { NO_OUTCOMES, type Point } from '../../stream/point.ts'
import { createProcessLog } from '../../stream/process-log.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { until } from '../support/wait.ts'

const MINUTE = 60_000
/** A degree of latitude. */
const DEGREE_M = 111_195

describe('A subject', () => {
  /** Returns the state right after the last of these fixes: seconds, metres north, and the device's own speed. */
  function stateAfter(...fixes: [second: number, north: number, speed?: number][]) {
    const places = fixes.map(([second, north, speed]) => ({
      recordedAt: second * 1000,
      lat: north / DEGREE_M,
      lng: 180,
      speed: speed ?? null,
    }))
    const [first, ...others] = places as [(typeof places)[0], ...typeof places]
    const motion = firstMotion(first.speed)
    let before = first
    for (const fix of others) {
      updateMotion(motion, before, fix)
      before = fix
    }
    expect(motion.past.length).toBeLessThanOrEqual(3 * 8)
    return stateAt(before.recordedAt, before.recordedAt, motion.moves, 10 * MINUTE)
  }
  const everySecond = (seconds: number, northAt: (second: number) => number) =>
    stateAfter(...Array.from({ length: seconds }, (_, n): [number, number] => [n, northAt(n)]))

  it('moves above 1 m/s by its own word, and not at 1 m/s', () => {
    expect(stateAfter([0, 0, 1.01])).toBe('moving')
    expect(stateAfter([0, 0, 1])).toBe('idle')
    expect(stateAfter([0, 0])).toBe('idle')
    expect(stateAfter([0, 0, 9], [300, 0, 0])).toBe('idle')
  })

  it('moves when it is more than 25 m from where it stood 60 s before, whatever speed it says and however often it sends', () => {
    expect(stateAfter([0, 0], [60, 26])).toBe('moving')
    expect(stateAfter([0, 0], [60, 24])).toBe('idle')
    expect(stateAfter([0, 0], [600, 26], [630, 26])).toBe('moving')
    expect(stateAfter([0, 0], [600, 26], [659, 26], [661, 26])).toBe('idle')
    expect(everySecond(300, second => second * 0.5)).toBe('moving')
    expect(everySecond(300, second => second * 0.3)).toBe('idle')
    // It stopped a minute ago: 71 s, because one place in ten seconds is kept.
    expect(everySecond(172, second => Math.min(second, 100) * 10)).toBe('idle')
    expect(everySecond(158, second => Math.min(second, 100) * 10)).toBe('moving')
    // It wanders around while it stands.
    expect(everySecond(300, second => 12 * Math.sin(second))).toBe('idle')
  })

  it('that falls silent is idle a minute after its newest fix, and offline when the organization says', () => {
    const at = (ageMs: number, offlineAfterMs: number) => stateAt(ageMs, 0, true, offlineAfterMs)
    expect([at(59_999, 10 * MINUTE), at(MINUTE, 10 * MINUTE), at(10 * MINUTE, 10 * MINUTE)]).toEqual([
      'moving',
      'idle',
      'offline',
    ])
    expect([at(9_999, 10_000), at(10_000, 10_000)]).toEqual(['moving', 'offline'])
  })
})

describe('The wheel', () => {
  it('hands over each thing once when its time has come, put forward or off, and so many at a time', () => {
    const wheel = createWheel<{ bucket: number; name: string }>()
    const things = ['a', 'b', 'c', 'd'].map(name => ({ name, bucket: Number.POSITIVE_INFINITY }))
    const [a, b, c, d] = things as [
      (typeof things)[0],
      (typeof things)[0],
      (typeof things)[0],
      (typeof things)[0],
    ]
    wheel.schedule(a, 30_000, 0)
    wheel.schedule(a, 10_000, 0)
    wheel.schedule(b, 10_000, 0)
    wheel.schedule(c, 3_600_000, 0)
    const take = (now: number, max = 10) => wheel.take(now, max).map(({ name }) => name)
    expect(take(9_000)).toEqual([])
    expect(take(10_000, 1)).toHaveLength(1)
    expect(take(10_000, 1)).toHaveLength(1)
    expect(take(31_000)).toEqual([])
    // It is visited now and then, however far in the future its time is.
    expect(take(600_000)).toEqual(['c'])
    wheel.schedule(d, 0, 700_000)
    expect(take(700_000)).toEqual(['d'])
  })
})

describe('Live positions', () => {
  const log = createProcessLog({ partitions: 1, start: new Map(), onError: () => {} })
  let files: TestDatabase
  let db: Database
  let positions: LivePositions
  let organizationId: string
  let subjects: number[]

  beforeAll(async () => {
    files = await createTestDatabase(usualKind())
    db = await openTestDatabase(files)
    organizationId = newId()
    await db.system.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [
      organizationId,
      'Presence',
    ])
    const ids = await db.tenant(organizationId, async tx => {
      const made: string[] = []
      for (let n = 0; n < 3; n++)
        made.push(
          await insertDevice(tx, {
            organizationId,
            name: `${n}`,
            hubId: null,
            keyHash: Buffer.from(newId()),
          }),
        )
      return made
    })
    const rows = await db.system.query<{ key: number }>(
      'SELECT key FROM subjects WHERE id = ANY($1::uuid[]) ORDER BY key',
      [ids],
    )
    subjects = rows.map(({ key }) => key)
    await log.store(async () => NO_OUTCOMES)
    positions = await openLivePositions({ db, log, onError: () => {} })
  })
  afterAll(async () => {
    await positions?.close()
    await log.close()
    await db?.close()
    await files?.remove()
  })

  const send = (index: number, recordedAt: number, speed: number | null) => {
    const point: Point = {
      kind: 'point',
      subject: subjects[index] as number,
      recordedAt,
      receivedAt: recordedAt,
      lat: 50,
      lng: 8,
      speed,
      heading: null,
      accuracy: null,
      altitude: null,
      battery: null,
      attributes: null,
    }
    return log.append([point], { ended: false, subjects: [] })
  }
  const states = () =>
    Object.fromEntries([...positions.of(organizationId)].map(({ info, state }) => [info?.name, state]))
  const changed = () =>
    [...(positions.takeChanged().get(organizationId) ?? [])].map(({ info }) => info?.name).sort()

  it('change with the time alone, each once, and are put off by every fix', async () => {
    const now = Date.now()
    for (const n of [0, 1, 2]) await send(n, now - n * 1000, n === 2 ? null : 5)
    await until('named', () => positions.of(organizationId).size === 3)
    expect(states()).toEqual({ 0: 'moving', 1: 'moving', 2: 'idle' })
    changed()
    positions.age(now + 30_000)
    expect(changed()).toEqual([])
    await send(0, now + 30_000, 5)
    expect(changed()).toEqual(['0'])
    positions.age(now + MINUTE)
    expect([states(), changed()]).toEqual([{ 0: 'moving', 1: 'idle', 2: 'idle' }, ['1']])
    positions.age(now + 91_000)
    expect([states(), changed()]).toEqual([{ 0: 'idle', 1: 'idle', 2: 'idle' }, ['0']])
    positions.age(now + 10 * MINUTE + 1_000)
    expect([states(), changed()]).toEqual([{ 0: 'idle', 1: 'offline', 2: 'offline' }, ['1', '2']])
    positions.age(now + 11 * MINUTE)
    expect([states(), changed()]).toEqual([{ 0: 'offline', 1: 'offline', 2: 'offline' }, ['0']])
    positions.age(now + 20 * MINUTE)
    expect(changed()).toEqual([])
  })

  it('follow the organization’s setting for silence, up and down', async () => {
    const sent = Date.now()
    await send(2, sent, null)
    expect(states()['2']).toBe('idle')
    const set = (minutes: unknown) =>
      db.system.query(`UPDATE organizations SET settings = settings || $2::jsonb WHERE id = $1`, [
        organizationId,
        JSON.stringify({ offlineAfterMinutes: minutes }),
      ])
    const before = positions.visibilityVersion(organizationId)
    await set(0.01)
    await until('the version is another', () => positions.visibilityVersion(organizationId) > before)
    // 0.6 s; the check comes at most a second later.
    positions.age(sent + 2_000)
    expect(states()['2']).toBe('offline')
    await set(5)
    await until('and another', () => positions.visibilityVersion(organizationId) > before + 1)
    positions.age(sent + 3_000)
    expect(states()['2']).toBe('idle')
    positions.age(sent + 5 * MINUTE + 1_000)
    expect(states()['2']).toBe('offline')
  })

  it('tell a returning client of changes by time since then, and of nothing else', async () => {
    const sent = Date.now()
    await send(1, sent, 5)
    const position = [...positions.of(organizationId)].find(({ info }) => info?.name === '1')
    if (!position) throw new Error('There is no such position')
    const aged = (since: number, now: number) => positions.hasAged(position, sent + since, sent + now)
    expect([aged(0, 59_000), aged(0, 61_000), aged(61_000, 4 * MINUTE), aged(61_000, 6 * MINUTE)]).toEqual([
      false,
      true,
      false,
      true,
    ])
  })
})
