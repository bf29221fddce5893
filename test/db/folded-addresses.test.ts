import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import type { Driver } from '../../db/drivers/driver.ts'
import { composeEmail, foldEmail } from '../../db/email-address.ts'
import { migrate } from '../../db/migrate.ts'
import { findAccount } from '../../db/queries/accounts.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'

it('The folded form of an address is its own folded form', () => {
  const texts = fc.oneof(
    fc.emailAddress(),
    fc.string({ unit: 'binary' }),
    fc
      .tuple(
        fc.string({ unit: 'grapheme', minLength: 1 }),
        fc.constantFrom('bücher.example', 'ΒΌΛΟΣ.GR', 'a.de'),
      )
      .map(([local, domain]) => `${local}@${domain}`),
  )
  fc.assert(
    fc.property(texts, text => {
      const folded = foldEmail(text)
      for (const again of [folded, text.normalize('NFD'), ` ${text}`]) expect(foldEmail(again)).toBe(folded)
    }),
    { numRuns: 2_000 },
  )
})

describe('Addresses that were stored when only A to Z were folded', () => {
  let files: TestDatabase
  let db: Database & { driver: Driver }

  beforeAll(async () => {
    files = await createTestDatabase(usualKind())
    db = await openTestDatabase(files)
  })
  afterAll(async () => {
    await db?.close()
    await files?.remove()
  })
  const foldBefore = (email: string) => composeEmail(email).replace(/[A-Z]/g, letter => letter.toLowerCase())

  it('are folded as new ones are, and of two that are one now the older keeps it', async () => {
    const exec = (text: string) => db.driver.setUp(({ exec }) => exec(text))
    await exec(`ALTER TABLE accounts DROP COLUMN folded_email CASCADE;
      CREATE UNIQUE INDEX accounts_email ON accounts (lower(email COLLATE "C"));
      DELETE FROM schema_migrations WHERE name = '0087_folded_addresses.sql'`)
    const emails = [
      'Anna@Example.com',
      'ÄNNA@example.com',
      'änna@example.com',
      'a@Bücher.example',
      '用户@例子.广告',
    ]
    const ids = new Map(emails.map(email => [email, newId()]))
    for (const [email, id] of ids)
      await db.system.query('INSERT INTO accounts (id, email) VALUES ($1, $2)', [id, email])
    const [organizationId, typeId] = [newId(), newId()]
    const fields = [
      { key: 'email', type: 'email', unique: true },
      { key: 'name', type: 'text', unique: true },
    ]
    await db.system.query(`INSERT INTO organizations (id, name) VALUES ($1, 'Old')`, [organizationId])
    await db.system.query(
      `INSERT INTO data_types (id, organization_id, name, type, fields) VALUES ($1, $2, 'Old', 'custom', $3::jsonb)`,
      [typeId, organizationId, JSON.stringify(fields)],
    )
    const put = (field: string, value: string) =>
      db.system.query('INSERT INTO data_keys VALUES ($1, $2, $3, $4, $5)', [
        organizationId,
        typeId,
        field,
        value,
        newId(),
      ])
    for (const email of emails) await put('email', foldBefore(email))
    await put('name', 'ÄNNA@example.com')

    expect(await migrate(db.driver)).toEqual({ applied: ['0087_folded_addresses.sql'], ahead: [] })

    for (const [email, id] of ids) {
      const found = await findAccount(db.system, email.toUpperCase())
      expect([email, found?.id]).toEqual([
        email,
        email === 'änna@example.com' ? ids.get('ÄNNA@example.com') : id,
      ])
    }
    const keys = await db.system.query<{ field: string; value: string }>(
      'SELECT field, value FROM data_keys WHERE organization_id = $1',
      [organizationId],
    )
    const folded = [...new Set(emails.map(foldEmail))].map(value => `email ${value}`)
    expect(keys.map(({ field, value }) => `${field} ${value}`).sort()).toEqual(
      [...folded, 'name ÄNNA@example.com'].sort(),
    )
  })
})
