import { randomBytes } from 'node:crypto'
import type { Database } from '../../../db/client.ts'
import { lockUntilCommit } from '../../../db/locks.ts'
import { hasAccounts, insertAccount, registerAccount } from '../../../db/queries/accounts.ts'
import type { Config } from '../../config.ts'
import { createOrganization } from '../organizations/create.ts'
import { hashPassword } from './passwords.ts'

/** Creates the first organization and its owner if the database has no account yet. Returns the credentials. */
export async function createFirstAccount(
  db: Database,
  owner: Config['owner'],
): Promise<{ email: string; password: string; generated: boolean } | null> {
  if (await hasAccounts(db.system)) return null
  const password = owner.password ?? randomBytes(15).toString('base64url')
  const passwordHash = await hashPassword(password, 'the first account')
  const created = await db.system.transaction(async tx => {
    await lockUntilCommit(tx, 'firstAccount')
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
  return created ? { email: owner.email, password, generated: owner.password === undefined } : null
}
