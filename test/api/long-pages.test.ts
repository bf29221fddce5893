import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { useOrganization } from '../support/shared-server.ts'

const MIB = 1024 * 1024
/** A row of this size ends a page: a body is at most 256 KiB, and an entry of the audit log has two. */
const LONGEST_ROW = MIB / 2
const ROWS = 12
const FIELDS = Array.from({ length: 24 }, (_, at) => `f${at}`)

/** The maximum length of a text, in a form that the database cannot compress. */
const noise = () => randomBytes(5_000).toString('hex')

describe('A page of large records', () => {
  const { server, owner } = useOrganization()

  beforeAll(async () => {
    const make = async (path: string, body: object) => {
      const answer = await owner.post(path, body)
      expect(answer.status, JSON.stringify(answer.body).slice(0, 500)).toBe(201)
      return answer.body.data
    }
    const withDefaults = () =>
      FIELDS.map(key => ({ key, label: key, type: 'text', required: false, default: noise() }))
    const type = await make('/data-type', {
      name: 'Large',
      fields: FIELDS.map(key => ({ key, label: key, type: 'text' })),
    })
    for (let row = 0; row < ROWS; row++) {
      const text = row % 2 === 0 ? noise() : 'x'.repeat(10_000)
      await make('/data', { dataTypeId: type._id, data: Object.fromEntries(FIELDS.map(key => [key, text])) })
      await make('/data-type', { name: `Type ${row}`, fields: withDefaults() })
      const step = { status: 'open', label: 'Open', next: [], fields: withDefaults() }
      await make('/flow', { name: `Flow ${row}`, steps: [step] })
    }
  })

  it.each([
    '/data?search=',
    '/data?dataTypeName=Large&sort=-f3',
    '/data-types?sort=-name',
    '/flows?sort=createdAt',
    '/audit-log?from=2020-01-01T00:00:00Z',
  ])('of %s ends at about 1 MiB, and its cursor leads to the rest', async path => {
    const seen: string[] = []
    let pages = 0
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const response = await fetch(`${server.url}/api/v3${path}&limit=500${cursor && `&cursor=${cursor}`}`, {
        headers: { authorization: `Bearer ${owner.token}` },
      })
      const text = await response.text()
      expect(response.status, text.slice(0, 500)).toBe(200)
      expect(text.length).toBeLessThan(MIB + LONGEST_ROW)
      const { data, pagination } = JSON.parse(text)
      expect(data.length).toBeGreaterThan(0)
      seen.push(...data.map(({ _id }: { _id: string }) => _id))
      cursor = pagination.nextCursor
    }
    expect(pages).toBeGreaterThan(2)
    expect(seen.length).toBeGreaterThanOrEqual(ROWS)
    expect(new Set(seen).size).toBe(seen.length)
  })

  it('of small rows is as long as it is asked for', async () => {
    for (let hub = 0; hub < 7; hub++) await owner.post('/hub', { name: `Small ${hub}`, lat: 1, lng: 2 })
    const first = (await owner.get('/hubs?sort=name&limit=4&search=Small ')).body
    const second = (
      await owner.get(`/hubs?sort=name&limit=4&search=Small &cursor=${first.pagination.nextCursor}`)
    ).body
    const names = [...first.data, ...second.data].map(({ name }) => name)
    expect(names).toEqual(Array.from({ length: 7 }, (_, hub) => `Small ${hub}`))
    expect(second.pagination).toEqual({ limit: 4, nextCursor: null, total: 7 })
  })
})
