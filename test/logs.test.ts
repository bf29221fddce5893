import { Writable } from 'node:stream'
import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { hubs } from '../db/schema/hubs.ts'
import { createLogger } from '../src/logger.ts'
import { createTestDatabase, openTestDatabase, usualKind } from './support/database.ts'
import { noteSent, searchLog } from './support/log-search.ts'

describe('The log', () => {
  it("holds nothing of a customer's row, whichever statement has failed", async () => {
    let written = ''
    const logger = createLogger(
      'info',
      new Writable({
        write(chunk, _encoding, done) {
          written += chunk
          done()
        },
      }),
    )
    const database = await createTestDatabase(usualKind())
    const db = await openTestDatabase(database)
    const secret = 'Ada Lovelace of 10 Downing Street'
    const failing = [
      `INSERT INTO schema_migrations (name) VALUES ('${secret}'), ('${secret}')`,
      `INSERT INTO organizations (id, name, root) VALUES (NULL, '${secret}', NULL)`,
      `SELECT '${secret}'::uuid`,
      `SELECT '${secret}'::timestamptz`,
      `SELECT '{"name": ${secret}}'::jsonb`,
      `SELECT $1::int`,
      `SELECT '{${secret}'::text[]`,
      `SELECT '2026-13-45 Lovelace'::timestamp`,
      // Numbers are values too, and a value may hold quotation marks and lines.
      `SELECT '987654321987'::int4`,
      `SELECT E'say "${secret}"\\nand "Downing"'::int`,
      `SELECT '${secret}'::interval`,
    ]
    const errors = await Promise.all(
      failing.map(text => db.system.query(text, text.includes('$1') ? [secret] : []).catch(error => error)),
    )
    errors.push(
      await db.system.orm
        .select()
        .from(hubs)
        .where(eq(hubs.id, secret))
        .catch((error: unknown) => error),
    )
    for (const error of errors) {
      expect(error).toBeInstanceOf(Error)
      logger.warn({ err: error }, 'Failed')
      logger.warn({ error }, 'Failed')
      logger.warn({ err: new AggregateError([error], 'Several have failed') }, 'Failed')
      logger.warn({ err: new Error('Around it', { cause: error }) }, 'Failed')
    }
    await db.close()
    await database.remove()
    expect(written.split('\n')).toHaveLength(errors.length * 4 + 1)
    // The reason and its code are there.
    expect(written).toContain('duplicate key value violates unique constraint')
    expect(written).toContain('23505')
    expect(written).toContain('22003')
    expect(written).toContain('value … is out of range')
    for (const part of ['Lovelace', 'Downing', '987654321987', '2026-13-45'])
      expect(written).not.toContain(part)
  })
})

describe('The search of the logs that every test file ends with', () => {
  it('finds what tests have sent, and what looks like a secret', () => {
    noteSent('/data', {
      dataTypeId: '1',
      data: { name: 'Grace Brewster Hopper', since: '2026-11-20T08:00:00Z' },
    })
    noteSent('/location-history/bulk', { points: [{ lat: 48.1371079, lng: 11.5 }] })
    noteSent('/auth/login', { email: 'grace@example.com', password: 'nanoseconds are short' })
    const token = ['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiIxMjM0NTYifQ', 'c2lnbmVk'].join('.')
    const leaks = [
      ...['Grace Brewster Hopper', '48.1371079', 'nanoseconds are short', token, `fld_${'A'.repeat(43)}`],
      ...[
        `whsec_${'A'.repeat(32)}`,
        `authorization: Bearer ${'b'.repeat(32)}`,
        '$argon2id$v=19$',
        '{"lat":48}',
      ],
    ]
    const line = (text: string) =>
      `{"level":40,"time":"2026-11-20T08:00:00Z","msg":${JSON.stringify(text)}}\n`
    for (const leak of leaks) {
      const log = line('before') + line(`Failed: storing ${leak}`) + line('after')
      expect(searchLog(log), leak).toEqual([expect.stringContaining('Failed: storing')])
    }
    expect(searchLog(line('Failed: storing a batch at 11.5 on 2026-11-20T08:00:00Z'))).toEqual([])
  })
})
