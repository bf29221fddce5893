import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseRrule } from '../../src/resources/schedules/parse-rrule.ts'
import { type Client, createDevice, signIn } from '../support/client.ts'
import { useMeasuredServer } from '../support/held-loop.ts'
import { addOrganization } from '../support/people.ts'

/**
 * Inputs that are valid and as expensive as possible. For any request, the event loop is blocked for less than this
 * processor time until others have a turn.
 */
const MAX_HELD_MS = 50

const upTo = (last: number, from = 0) => Array.from({ length: last - from + 1 }, (_, n) => n + from)
const signed = (last: number) => [...upTo(last, 1), ...upTo(last, 1).map(n => -n)].join()

describe('The costliest inputs that are valid hold up nobody', () => {
  const { server, heldMs } = useMeasuredServer()
  let owner: Client

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
  })

  async function holdsNobodyUp(what: string, work: () => Promise<unknown>): Promise<void> {
    const held = await heldMs(MAX_HELD_MS, work)
    if (process.env.FIGURES) console.log(what.slice(0, 100), held)
    expect(held, `processor milliseconds of ${what.slice(0, 400)}`).toBeLessThan(MAX_HELD_MS)
  }

  describe('schedules', () => {
    /** Each part at its longest, so that only their combinations are left to explore. */
    const parts = {
      INTERVAL: fc.constantFrom('1', '2', '7', '1439', '99999', '999999999'),
      COUNT: fc.constantFrom('1', '999999999'),
      BYMONTH: fc.constantFrom(upTo(12, 1).join(), '2'),
      BYMONTHDAY: fc.constantFrom(signed(31), '30', '-31'),
      BYYEARDAY: fc.constantFrom(signed(366), '366'),
      BYWEEKNO: fc.constantFrom(signed(53), '53'),
      BYDAY: fc.constantFrom('MO,TU,WE,TH,FR,SA,SU', 'MO', '53MO,-53SU'),
      BYHOUR: fc.constantFrom(upTo(23).join(), '3'),
      BYMINUTE: fc.constantFrom(upTo(59).join(), '7'),
      BYSETPOS: fc.constantFrom(signed(366), '1', '-366'),
    }
    const isRule = (text: string) => {
      try {
        return parseRrule(text) !== null
      } catch {
        return false
      }
    }
    const rule = fc
      .tuple(
        fc.constantFrom('YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY'),
        fc.record(parts, { requiredKeys: [] }),
      )
      .map(([frequency, given]) => [
        `FREQ=${frequency}`,
        ...Object.entries(given).map(([name, value]) => `${name}=${value}`),
      ])
      .map(list => list.join(';'))
      .filter(isRule)
    const exceptions = fc.constantFrom(
      [],
      upTo(499).map(n => new Date(Date.UTC(2000, 0, 2 + 15 * n)).toISOString()),
      upTo(499).map(n => new Date(Date.UTC(2000, 0, 2 + 15 * n)).toISOString().slice(0, 10)),
    )
    const timing = fc.record({
      repeat: fc.oneof(
        { weight: 9, arbitrary: fc.record({ rrule: rule }) },
        fc.constantFrom(
          { frequency: 'daily', interval: 1 },
          { frequency: 'daily', interval: 7, byWeekday: ['mon'] },
          { frequency: 'yearly', byMonthDay: upTo(31, 1) },
        ),
      ),
      startTime: fc.constantFrom('2000-01-01T00:00:00Z', '2000-01-02T00:00:00Z', '2099-12-01T00:00:00Z'),
      timezone: fc.constantFrom('UTC', 'Africa/Casablanca', 'Australia/Lord_Howe', 'Pacific/Apia'),
      exceptions,
    })
    /** The same in every run, so that a failure comes from the change under test. */
    const SAMPLES = { seed: 20_261_124, numRuns: Number(process.env.RULES ?? 60) }
    const everyMinute = `BYHOUR=${upTo(23)};BYMINUTE=${upTo(59)}`
    const found = [
      ...['DAILY', 'WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA,SU'].map(frequency => ({
        repeat: { rrule: `FREQ=${frequency};${everyMinute};BYSETPOS=${signed(366)}` },
        startTime: '2000-01-01T00:00:00Z',
      })),
      ...fc.sample(timing, SAMPLES),
    ]

    it('previewed', async () => {
      const preview = async (timing: object) =>
        expect([200, 400]).toContain(
          (await owner.post('/task/schedules/preview', { ...timing, count: 500 })).status,
        )
      const held = await heldMs(MAX_HELD_MS, async () => {
        for (const timing of found) await preview(timing)
      })
      if (held < MAX_HELD_MS) return
      for (const timing of found) await holdsNobodyUp(JSON.stringify(timing), () => preview(timing))
    })

    it('created in a list', async () => {
      const schedules = found.map((timing, n) => ({ name: `Schedule ${n}`, ...timing, exceptions: [] }))
      await holdsNobodyUp('a list of schedules', async () => {
        const answer = await owner.post('/task/schedules/bulk', { schedules })
        expect(answer.status).toBe(200)
      })
    })

    it('changed', async () => {
      const { _id } = (await owner.post('/task/schedule', { name: 'Changing' })).body.data
      const [{ repeat, startTime }] = found as [(typeof found)[0]]
      await holdsNobodyUp('a changed schedule', async () => {
        const answer = await owner.patch(`/task/schedule/${_id}`, { repeat, startTime })
        expect(answer.status).toBe(200)
        expect((await owner.patch(`/task/schedule/${_id}`, { timezone: 'UTC' })).status).toBe(200)
      })
    })
  })

  it('messages of trackers with many latitudes and no longitude, for which a profile is suggested', async () => {
    const fields = Object.fromEntries(upTo(499).map(n => [`a${n}lat`, 1]))
    const payload = upTo(6).reduce((inner: object) => ({ inner }), fields)
    const messages = upTo(29).map(() => ({ payload }))
    await holdsNobodyUp('suggested profiles', async () => {
      const { status, body } = await owner.post('/tracker-profile/suggest', { messages })
      expect([status, body.data.profile]).toEqual([200, null])
    })
  })

  // Parsed in one piece they hold everybody up for 140 to 320 ms; a piece takes longer than usual while V8 forgets earlier shapes.
  it.each([
    ['/location-history/bulk', 'points', 'application/json', 0],
    ['/ingest/overland', 'locations', 'application/json', 0],
    ['/ingest/overland', 'locations', 'text/plain', 100],
  ])('points whose keys differ from point to point, sent to %s', async (path, list, type, spaces) => {
    const { key } = await createDevice(owner)
    let keys = 0
    const held = await heldMs(100, async () => {
      const unlike = () => Object.fromEntries(upTo(38).map(() => [`k${(keys++).toString(36)}`, 1]))
      const points = upTo(4_799).map(() => ({ ...unlike(), lat: 'none' }))
      const body = ' '.repeat(spaces) + JSON.stringify({ [list]: points })
      const headers = { authorization: `Bearer ${key}`, 'content-type': type }
      const { status } = await fetch(`${server.url}/api/v3${path}`, { method: 'POST', headers, body })
      // 503 where a slow machine does not store so many rejections in the time of a request.
      expect([200, 400, 503]).toContain(status)
    })
    expect(held).toBeLessThan(100)
  })
})
