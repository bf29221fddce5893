import { createHash, randomBytes } from 'node:crypto'
import type { Queryable } from '../../../db/client.ts'
import { foldEmail } from '../../../db/email-address.ts'
import {
  type Account,
  findAccount,
  findAccountById,
  findFirstAccountId,
  findRootOfUser,
  listMemberships,
  lockAccount,
  registerAccount,
  setRoot,
  updatePassword,
} from '../../../db/queries/accounts.ts'
import type { Invitation } from '../../../db/queries/invitations.ts'
import { deleteSecondFactor } from '../../../db/queries/second-factors.ts'
import { deleteSessionsOf } from '../../../db/queries/sessions.ts'
import {
  bindIdentity,
  findBoundAccountId,
  type Identity,
  insertSignInCode,
} from '../../../db/queries/single-sign-on.ts'
import type { Config } from '../../config.ts'
import { found } from '../../http/errors.ts'
import { holdInvitations, join } from '../invitations/accept.ts'
import { notInvited, otherIdentity } from './failures.ts'
import type { Person } from './provider.ts'

/** Between the callback and the page that trades it. */
const LIFETIME_S = 60

/** 256 random bits cannot be guessed, so SHA-256 is enough. */
export const digestCode = (code: string): Buffer => createHash('sha256').update(code).digest()

/**
 * Lets a person in whom the provider has identified: binds the account at its first sign-in, accepts the invitations of the
 * address, and returns a code that is traded for a session. Throws 403 if there is no account to enter, or it belongs to
 * somebody else.
 */
export async function enter(
  tx: Queryable,
  person: Person,
  { allowSignup }: Pick<Config, 'allowSignup'>,
): Promise<string> {
  const boundId = await findBoundAccountId(tx, person)
  const account = boundId === null ? await findAccount(tx, person.email) : await findAccountById(tx, boundId)
  if (!account) throw notInvited()
  const isAddress = foldEmail(account.email) === foldEmail(person.email)
  const invitations = isAddress ? await holdInvitations(tx, account.id) : []
  await lockAccount(tx, account.id)
  const current = found('account', await findAccountById(tx, account.id))
  const memberships = await listMemberships(tx, current.id)
  const joined = invitations.at(-1)?.organizationId
  const organizationId = joined ?? memberships[0]?.organizationId
  if (organizationId === undefined) throw notInvited()
  if (allowSignup && !current.isBound && current.passwordHash !== null) await dropPassword(tx, current.id)
  await bind(tx, current, person, invitations[0])
  for (const invitation of invitations) await join(tx, invitation, invitation.name)
  const code = randomBytes(32).toString('base64url')
  const digest = digestCode(code)
  await insertSignInCode(tx, { digest, accountId: current.id, organizationId, lifetimeS: LIFETIME_S })
  return code
}

/**
 * Where everybody may register, whoever chose the password of an account has not shown that the address is theirs, and the
 * provider has: the password goes, with its second factor and its sessions. The server's first account is its operator's.
 */
async function dropPassword(tx: Queryable, accountId: string): Promise<void> {
  if (accountId === (await findFirstAccountId(tx))) return
  await updatePassword(tx, accountId, null)
  await deleteSecondFactor(tx, accountId)
  await deleteSessionsOf(tx, accountId)
}

/** An account without a password gets its root and its first organization, as its first password would give it. */
async function bind(
  tx: Queryable,
  { id, isBound, passwordHash }: Account,
  { issuer, subject }: Identity,
  first: Invitation | undefined,
): Promise<void> {
  if (!(await bindIdentity(tx, id, { issuer, subject }))) throw otherIdentity()
  if (isBound || passwordHash !== null || !first) return
  const { invitedBy, organizationId: registeredIn } = first
  await setRoot(tx, id, (invitedBy && (await findRootOfUser(tx, invitedBy))) ?? id)
  await registerAccount(tx, id, { passwordHash: null, registeredIn })
}
