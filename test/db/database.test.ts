import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { getTableColumns, getTableName, isTable } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ChangeEvent, type Database, newId, notify } from '../../db/client.ts'
import type { Driver } from '../../db/drivers/driver.ts'
import { sqlState } from '../../db/errors.ts'
import { migrate } from '../../db/migrate.ts'
import { insertDevice } from '../../db/queries/devices.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'
import { until } from '../support/wait.ts'

describe.each(['pglite', 'postgres'] as const)('A database on %s', kind => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined
  let files: TestDatabase
  let db: Database & { driver: Driver }
  const [first, second] = [newId(), newId()]
  /** The work of the database during failures outside of a statement. */
  const errors: string[] = []

  beforeAll(async () => {
    if (missing) return
    files = await createTestDatabase(kind)
    db = await openTestDatabase(files, (_error, doing) => errors.push(doing))
    for (const [id, name] of [
      [first, 'First'],
      [second, 'Second'],
    ]) {
      await db.system.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [id, name])
    }
  })
  afterAll(async () => {
    await db?.close()
    await files?.remove()
  })
  const test = (name: string, work: () => Promise<void>) =>
    it(name, async context => (missing ? context.skip(missing) : work()))

  const addDevice = (organizationId: string, name: string) =>
    db.tenant(organizationId, tx =>
      insertDevice(tx, { organizationId, name, hubId: null, keyHash: Buffer.from(newId()) }),
    )

  test('shows a tenant its own rows alone, also to a query that forgets the organization', async () => {
    const mine = await addDevice(first, 'Mine')
    await addDevice(second, 'Not mine')
    expect(await db.tenant(first, tx => tx.query('SELECT id, name FROM devices'))).toEqual([
      { id: mine, name: 'Mine' },
    ])
    expect(await db.tenant(first, tx => tx.query('SELECT name FROM organizations'))).toEqual([
      { name: 'First' },
    ])
    const [updated] = await db.tenant(first, tx =>
      tx.query<{ n: number }>(
        `WITH u AS (UPDATE devices SET name = 'x' RETURNING 1) SELECT count(*)::int AS n FROM u`,
      ),
    )
    expect(updated?.n).toBe(1)
  })

  test('lets no tenant write into another organization', async () => {
    await expect(
      db.tenant(first, tx =>
        tx.query('INSERT INTO hubs (id, organization_id, name, lat, lng) VALUES ($1, $2, $3, 0, 0)', [
          newId(),
          second,
          'x',
        ]),
      ),
    ).rejects.toSatisfy(error => sqlState(error) === '42501')
  })

  test('gives the tenant role nothing of accounts, sessions and points', async () => {
    for (const table of [
      'accounts',
      'sessions',
      'points',
      'newest_fixes',
      'log_positions',
      'data_records',
      'data_keys',
      'schema_migrations',
    ]) {
      await expect(
        db.tenant(first, tx => tx.query(`SELECT * FROM ${table}`)),
        table,
      ).rejects.toSatisfy(error => sqlState(error) === '42501')
    }
  })

  test('protects every table that has an organization', async () => {
    const open = await db.system.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
       WHERE a.attname = 'organization_id' AND c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
         AND NOT c.relrowsecurity AND has_table_privilege('fieldline_tenant', c.oid, 'SELECT')`,
    )
    expect(open).toEqual([])
  })

  test('leaves no trace of a transaction that throws, and the next one is a tenant of its own', async () => {
    await expect(
      db.tenant(first, async tx => {
        await tx.query(`UPDATE devices SET name = 'gone'`)
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    const rows = await db.system.query(`SELECT 1 FROM devices WHERE name = 'gone'`)
    expect(rows).toEqual([])
    const [who] = await db.system.query<{ role: string }>('SELECT current_user::text AS role')
    expect(who?.role).not.toBe('fieldline_tenant')
  })

  test('gives the same values on either kind', async () => {
    const [row] = await db.system.query(
      `SELECT 9007199254740991::int8 AS big, 1.5::float4 AS single, true AS yes, NULL AS nothing,
         '{"a":[1]}'::jsonb AS json, ARRAY['x', 'y'] AS texts, '2026-11-21'::date AS day,
         '2026-11-21T10:00:00.123Z'::timestamptz AS time, '\\x00ff'::bytea AS bytes`,
    )
    expect({ ...row, bytes: [...((row?.bytes ?? []) as Uint8Array)] }).toEqual({
      big: 9007199254740991,
      single: 1.5,
      yes: true,
      nothing: null,
      json: { a: [1] },
      texts: ['x', 'y'],
      day: '2026-11-21',
      time: new Date('2026-11-21T10:00:00.123Z'),
      bytes: [0, 255],
    })
  })

  test('names the state of an error', async () => {
    await expect(db.system.query(`SELECT 'x'::int`)).rejects.toSatisfy(error => sqlState(error) === '22P02')
    await expect(
      db.system.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [first, 'again']),
    ).rejects.toSatisfy(error => sqlState(error) === '23505')
  })

  test('refuses a statement that would wait for its own transaction', async () => {
    await expect(db.system.transaction(async () => db.system.query('SELECT 1'))).rejects.toThrow(
      /transaction is open/,
    )
  })

  test('tells listeners of a change when it is committed, and not of one that is not', async () => {
    const heard: unknown[] = []
    const stop = db.onChange(event => heard.push(event))
    await until('listening', async () => {
      await db.system.transaction(tx => notify(tx, { kind: 'visibility', organizationId: first }))
      return heard.length > 0
    })
    heard.length = 0
    await db.system
      .transaction(async tx => {
        await notify(tx, { kind: 'visibility', organizationId: second })
        throw new Error('no')
      })
      .catch(() => {})
    await db.system.transaction(tx => notify(tx, { kind: 'device', deviceId: first, organizationId: first }))
    await until('heard', () => heard.some(event => (event as { kind: string }).kind === 'device'))
    expect(heard.filter(event => (event as { organizationId: string }).organizationId === second)).toEqual([])
    stop()
  })

  test('goes on hearing after a notification that nobody of us sent, and after a listener that throws', async () => {
    const heard: ChangeEvent[] = []
    const complaints = errors.length
    const stopThrowing = db.onChange(() => {
      throw new Error('This listener throws')
    })
    const stop = db.onChange(event => heard.push(event))
    await until('listening', async () => {
      await db.system.transaction(tx => notify(tx, { kind: 'visibility', organizationId: first }))
      return heard.length > 0
    })
    for (const payload of ['hello', '', 'null', '7', '[]', '{"kind":"toString"}', '{"kind":"device"}']) {
      await db.system.query(`SELECT pg_notify('fieldline', $1)`, [payload])
    }
    await db.system.transaction(tx => notify(tx, { kind: 'session', sessionId: second }))
    await until('heard', () => heard.some(event => event.kind === 'session'))
    expect(new Set(heard.map(({ kind }) => kind))).toEqual(new Set(['visibility', 'session']))
    expect(errors.slice(complaints).filter(doing => doing.startsWith('reading a notification'))).toHaveLength(
      7,
    )
    stopThrowing()
    stop()
  })

  test('is migrated once', async () => {
    expect(await migrate(db.driver)).toEqual({ applied: [], ahead: [] })
  })

  test('has the columns that the drizzle mirror names, of their types, and no others', async () => {
    const folder = resolve(import.meta.dirname, '../../db/schema')
    for (const file of readdirSync(folder)) {
      const module = (await import(resolve(folder, file))) as Record<string, unknown>
      for (const table of Object.values(module)) {
        if (!isTable(table)) continue
        const rows = await db.system.query<{ name: string; type: string; optional: boolean; given: boolean }>(
          `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, NOT attnotnull AS optional,
             atthasdef OR attidentity <> '' AS given
           FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
          [getTableName(table)],
        )
        const mirror = Object.values(getTableColumns(table))
          .map(column => ({
            name: column.name,
            type: column.getSQLType(),
            optional: !column.notNull,
            given: column.hasDefault || column.generated !== undefined,
          }))
          .sort((a, b) => (a.name < b.name ? -1 : 1))
        expect(mirror, getTableName(table)).toEqual([...rows].sort((a, b) => (a.name < b.name ? -1 : 1)))
      }
    }
  })
})
