import { randomBytes } from 'node:crypto'
import type { Database } from '../../db/client.ts'
import { hasAccounts, insertAccount, registerAccount } from '../../db/queries/accounts.ts'
import type { Config } from '../config.ts'
import { createOrganization } from '../organizations/create.ts'
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
    const accountId = await insertAccount(tx, { email: owner.email, passwordHash: null, registeredIn: null })
    const { organizationId } = await createOrganization(tx, {
      organizationName: owner.organization,
      owner: { accountId, name: 'Owner' },
      hub: null,
      copyFrom: null,
      hubsFrom: null,
    })
    await registerAccount(tx, accountId, { passwordHash, registeredIn: organizationId })
    return true
  })
  return made ? { email: owner.email, password, generated: owner.password === undefined } : null
}
