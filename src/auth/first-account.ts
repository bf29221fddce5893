import { randomBytes } from 'node:crypto'
import { type Database, newId } from '../../db/client.ts'
import { hasAccounts, insertAccount, insertOrganization, insertUser } from '../../db/queries/accounts.ts'
import type { Config } from '../config.ts'
import { DEFAULT_ROLES } from '../permissions.ts'
import { hashPassword } from './passwords.ts'

/** Any number, the same in every process: of two that start at once one makes the account. */
const LOCK = 5_417_302_119

/** Makes the first organization and its owner where the database has no account yet. Returns how to sign in. */
export async function createFirstAccount(
  db: Database,
  owner: Config['owner'],
): Promise<{ email: string; password: string; generated: boolean } | null> {
  if (await hasAccounts(db.autocommit)) return null
  const password = owner.password ?? randomBytes(15).toString('base64url')
  const passwordHash = await hashPassword(password)
  const made = await db.system(async tx => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    if (await hasAccounts(tx)) return false
    const organizationId = newId()
    const roles = await insertOrganization(
      tx,
      { id: organizationId, name: owner.organization },
      DEFAULT_ROLES,
    )
    const accountId = await insertAccount(tx, {
      email: owner.email,
      passwordHash,
      registeredIn: organizationId,
    })
    const roleId = roles.get('Owner') as string
    await insertUser(tx, { organizationId, accountId, roleId, name: 'Owner' })
    return true
  })
  return made ? { email: owner.email, password, generated: owner.password === undefined } : null
}
