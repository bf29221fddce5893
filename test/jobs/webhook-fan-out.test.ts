import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId, type Queryable } from '../../db/client.ts'
import {
  insertEvents,
  orderDeliveries,
  orderWhatIsDue,
  placeEvents,
  takeEvents,
} from '../../db/queries/webhook-events.ts'
import { findEndpoint, updateWebhook } from '../../db/queries/webhooks.ts'
import {
  createTestDatabase,
  type Kind,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'

const EVENT = 'data-source-created' as const
const WEBHOOKS = 500
const EVENTS = 120

describe.each<Kind>(['pglite', 'postgres'])('An event with many webhooks, on %s', kind => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined
  let files: TestDatabase
  let db: Awaited<ReturnType<typeof openTestDatabase>>

  beforeAll(async () => {
    if (missing) return
    files = await createTestDatabase(kind)
    db = await openTestDatabase(files)
  })
  afterAll(async () => {
    await db?.close()
    await files?.remove()
  })
  const test = (name: string, work: () => Promise<void>) =>
    it(name, async context => (missing ? context.skip(missing) : work()))

  async function addOrganization(
    webhooks: number,
  ): Promise<{ organizationId: string; webhookIds: string[] }> {
    const organizationId = newId()
    const webhookIds = Array.from({ length: webhooks }, newId)
    await db.system.query(`INSERT INTO organizations (id, name) VALUES ($1, 'Listening')`, [organizationId])
    await db.system.query(
      `INSERT INTO webhooks (id, organization_id, url, events, secret)
       SELECT id, $1, 'http://192.0.2.1/', $3, 'none' FROM unnest($2::uuid[]) AS w(id)`,
      [organizationId, webhookIds, [EVENT]],
    )
    return { organizationId, webhookIds }
  }

  /** Counts the statements of `work` in one transaction. */
  async function statementsOf(work: (tx: Queryable) => Promise<unknown>): Promise<number> {
    let statements = 0
    await db.system.transaction(tx =>
      work({
        orm: tx.orm,
        query: (text, values) => {
          statements++
          return tx.query(text, values)
        },
      }),
    )
    return statements
  }

  const write = (tx: Queryable, organizationId: string, payloads: readonly string[]) =>
    insertEvents(tx, organizationId, { event: EVENT, dataTypeId: null, payloads })
  const count = async (table: string, organizationId: string) => {
    const [row] = await db.system.query<{ count: number }>(
      `SELECT count(*)::int4 AS count FROM ${table} WHERE organization_id = $1`,
      [organizationId],
    )
    return row?.count
  }
  const take = (organizationId: string, webhookId: string) =>
    db.tenant(organizationId, async tx => {
      const endpoint = await findEndpoint(tx, webhookId)
      return endpoint && takeEvents(tx, organizationId, webhookId, endpoint, 100)
    })
  const taken = async (webhookId: string) => {
    const rows = await db.system.query<{ payload: string }>(
      `SELECT e.payload FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
       WHERE d.webhook_id = $1 ORDER BY d.next_attempt_at, d.id`,
      [webhookId],
    )
    return rows.map(({ payload }) => payload)
  }

  test('is one row and as many statements as with one webhook', async () => {
    const one = await addOrganization(1)
    const many = await addOrganization(WEBHOOKS)
    const payloads = Array.from({ length: EVENTS }, (_, n) => `{"n":${n}}`)
    const withOne = await statementsOf(tx => write(tx, one.organizationId, payloads))
    const withMany = await statementsOf(tx => write(tx, many.organizationId, payloads))
    expect(withMany).toBe(withOne)
    for (const { organizationId } of [one, many]) {
      expect(await count('webhook_events', organizationId)).toBe(EVENTS)
      expect(await count('webhook_deliveries', organizationId)).toBe(0)
      expect(await count('jobs', organizationId)).toBe(1)
    }
  })

  test('reaches every webhook in steps, each event once and in order', async () => {
    const { organizationId, webhookIds } = await addOrganization(3)
    const payloads = Array.from({ length: 250 }, (_, n) => `{"n":${n}}`)
    for (let from = 0; from < 250; from += 50) {
      await db.system.transaction(tx => write(tx, organizationId, payloads.slice(from, from + 50)))
    }
    const place = () => db.tenant(organizationId, tx => placeEvents(tx, organizationId, 100))
    expect([await place(), await place(), await place(), await place()]).toEqual([
      { kinds: [EVENT], count: 100 },
      { kinds: [EVENT], count: 100 },
      { kinds: [EVENT], count: 50 },
      { kinds: [], count: 0 },
    ])
    for (const id of webhookIds) {
      for (const expected of [100, 100, 50, 0]) expect(await take(organizationId, id)).toBe(expected)
      expect(await taken(id)).toEqual(payloads)
    }
  })

  test('that commits after later ones is not passed over', async () => {
    const { organizationId, webhookIds } = await addOrganization(1)
    const [webhookId] = webhookIds as [string]
    const placeAndTake = async () => {
      await db.tenant(organizationId, tx => placeEvents(tx, organizationId, 100))
      await take(organizationId, webhookId)
    }
    if (kind === 'postgres') {
      await db.writer.transaction(async tx => {
        await tx.query(
          `INSERT INTO webhook_events (id, organization_id, event, payload) VALUES ($1, $2, $3, '"slow"')`,
          [newId(), organizationId, EVENT],
        )
        const other = await openTestDatabase(files)
        await other.system.transaction(tx => write(tx, organizationId, ['"quick"']))
        await other.tenant(organizationId, tx => placeEvents(tx, organizationId, 100))
        await other.tenant(organizationId, async tx => {
          const endpoint = await findEndpoint(tx, webhookId)
          if (endpoint) await takeEvents(tx, organizationId, webhookId, endpoint, 100)
        })
        await other.close()
      })
      await placeAndTake()
      expect((await taken(webhookId)).sort()).toEqual(['"quick"', '"slow"'])
    } else {
      await db.system.transaction(tx => write(tx, organizationId, ['"only"']))
      await placeAndTake()
      expect(await taken(webhookId)).toEqual(['"only"'])
    }
  })

  test('is sent to the endpoints that listened when it happened, and to no later ones', async () => {
    const { organizationId, webhookIds } = await addOrganization(2)
    const [steady, pausing] = webhookIds as [string, string]
    const set = (status: 'active' | 'disabled') =>
      db.tenant(organizationId, tx =>
        updateWebhook(tx, pausing, { url: 'http://192.0.2.1/', events: [EVENT], description: '', status }),
      )
    const tell = (text: string) =>
      db.system.transaction(tx => write(tx, organizationId, [JSON.stringify(text)]))
    await set('disabled')
    await tell('while it was disabled')
    await set('active')
    await tell('after that')
    await db.tenant(organizationId, tx => placeEvents(tx, organizationId, 100))
    for (const id of webhookIds) await take(organizationId, id)
    expect(await taken(steady)).toEqual(['"while it was disabled"', '"after that"'])
    expect(await taken(pausing)).toEqual(['"after that"'])
  })

  test('has its jobs ordered in pages, and a job that nobody ordered is ordered by the next sweep', async () => {
    const { organizationId } = await addOrganization(WEBHOOKS)
    await db.system.transaction(tx => write(tx, organizationId, ['{}']))
    await db.system.query('DELETE FROM jobs WHERE organization_id = $1', [organizationId])
    await db.system.transaction(tx => orderWhatIsDue(tx, 500))
    expect(await count('jobs', organizationId)).toBe(1)
    await db.tenant(organizationId, tx => placeEvents(tx, organizationId, 100))
    let after: string | null = null
    let pages = 0
    do {
      const page: { after: string | null; limit: number } = { after, limit: 200 }
      after = await db.tenant(organizationId, tx => orderDeliveries(tx, organizationId, [EVENT], page))
      pages++
    } while (after !== null)
    expect([pages, await count('jobs', organizationId)]).toEqual([3, WEBHOOKS + 1])
    // Deliveries that have a job are not the sweep's work.
    const other = await addOrganization(1)
    await db.system.transaction(tx => write(tx, other.organizationId, ['{}']))
    await db.tenant(other.organizationId, tx => placeEvents(tx, other.organizationId, 100))
    await db.system.query('DELETE FROM jobs WHERE organization_id = $1', [other.organizationId])
    await db.system.transaction(tx => orderWhatIsDue(tx, 10))
    expect(await count('jobs', other.organizationId)).toBe(1)
  })
})
