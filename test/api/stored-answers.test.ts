import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { LARGE_A_DAY } from '../../src/http/answer-room.ts'
import { addErrorHandling } from '../../src/http/plugins/errors.ts'
import { addIdempotency } from '../../src/http/plugins/idempotency.ts'
import type { App, Services } from '../../src/services.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'

const MIB = 1024 * 1024

describe('The answers that are stored for Idempotency-Keys', () => {
  let database: TestDatabase
  let db: Database
  const app = Fastify() as unknown as App
  let sent = 0

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    db = await openTestDatabase(database)
    addErrorHandling(app)
    addIdempotency(app, {
      db,
      config: { jwtSecret: 'a secret of thirty-two characters' },
    } as unknown as Services)
    app.post('/large', async () => ({ sent: ++sent, text: 'x'.repeat(MIB - 100) }))
    app.post('/small', async () => ({ sent: ++sent }))
  })
  afterAll(async () => {
    await app.close()
    await db.close()
    await database.remove()
  })

  it('have a bounded sum a day, beyond which a request is known to be carried out and no more', async () => {
    const post = (url: string, key: string) =>
      app.inject({ method: 'POST', url, headers: { 'idempotency-key': key } })
    for (let n = 0; n < LARGE_A_DAY / MIB / 2; n++) await post('/large', `large ${n}`)
    const first = await post('/large', 'large 0')
    expect([first.statusCode, first.json().sent]).toEqual([200, 1])
    const before = sent
    expect((await post('/large', 'over')).statusCode).toBe(200)
    expect((await post('/large', 'over')).statusCode).toBe(409)
    expect(sent).toBe(before + 1)
    const small = await post('/small', 'small')
    expect((await post('/small', 'small')).json()).toEqual(small.json())
  })
})
