import { eq, sql } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { composeEmail, foldEmail } from '../email-address.ts'
import { accounts } from '../schema/accounts.ts'
import { deleteSome } from './prune.ts'

/** An account's active membership in an organization, as the interface lists it (specification 2.2). */
export interface Membership {
  userId: string
  organizationId: string
  organizationName: string
  organizationLogo: string | null
  roleName: string
}

export interface Account {
  id: string
  email: string
  /** Null for an invited address that has not registered anywhere, and for an account that knows single sign-on alone. */
  passwordHash: string | null
  /** Whether signing in with the password takes a code as well. */
  hasSecondFactor: boolean
  /** Whether it is bound to an identity of single sign-on. */
  isBound: boolean
}

export async function hasAccounts(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>('SELECT EXISTS (SELECT FROM accounts) AS found')
  return row?.found ?? false
}

const ACCOUNT = `SELECT id, email, password_hash AS "passwordHash",
    EXISTS (SELECT FROM second_factors f WHERE f.account_id = accounts.id AND f.confirmed_at IS NOT NULL)
      AS "hasSecondFactor",
    EXISTS (SELECT FROM account_identities i WHERE i.account_id = accounts.id) AS "isBound"
  FROM accounts WHERE`

/** The account of an address in any spelling, or null. */
export async function findAccount(db: Queryable, email: string): Promise<Account | null> {
  const [row] = await db.query<Account>(`${ACCOUNT} folded_email = $1`, [foldEmail(email)])
  return row ?? null
}

export async function findAccountById(db: Queryable, id: string): Promise<Account | null> {
  const [row] = await db.query<Account>(`${ACCOUNT} id = $1`, [id])
  return row ?? null
}

export async function hasPassword(db: Queryable, accountId: string): Promise<boolean> {
  const [row] = await db.query<{ has: boolean }>(
    'SELECT password_hash IS NOT NULL AS has FROM accounts WHERE id = $1',
    [accountId],
  )
  return row?.has ?? false
}

/** The first account of the server, which its operator has. */
export async function findFirstAccountId(db: Queryable): Promise<string | null> {
  const [row] = await db.query<{ id: string }>('SELECT id FROM accounts ORDER BY created_at, id LIMIT 1')
  return row?.id ?? null
}

/** The active memberships of an account, the most recently used one first. */
export async function listMemberships(db: Queryable, accountId: string): Promise<Membership[]> {
  return db.query(
    `SELECT u.id AS "userId", o.id AS "organizationId", o.name AS "organizationName",
       o.logo AS "organizationLogo", r.name AS "roleName"
     FROM users u JOIN organizations o ON o.id = u.organization_id JOIN roles r ON r.id = u.role_id
     WHERE u.account_id = $1 AND u.status = 'active' AND o.deleted_at IS NULL
     ORDER BY u.last_active_at DESC NULLS LAST, u.joined_at, u.id`,
    [accountId],
  )
}

/** The language of the organization that the account used last; null if that has none. */
export async function findLanguageOfAccount(db: Queryable, accountId: string): Promise<string | null> {
  const [row] = await db.query<{ language: string | null }>(
    `SELECT o.language FROM users u JOIN organizations o ON o.id = u.organization_id
     WHERE u.account_id = $1 AND u.status = 'active' AND o.deleted_at IS NULL
     ORDER BY u.last_active_at DESC NULLS LAST, u.joined_at, u.id LIMIT 1`,
    [accountId],
  )
  return row?.language ?? null
}

/** Creates an account, which has no password until its first invitation is accepted. */
export async function insertAccount(
  tx: Queryable,
  account: { email: string; passwordHash: string | null; registeredIn: string | null },
): Promise<string> {
  const id = newId()
  const { email } = account
  await tx.orm
    .insert(accounts)
    .values({ id, ...account, email: composeEmail(email), foldedEmail: foldEmail(email) })
  return id
}

/**
 * The account of an address, created without a password if it does not exist. It stays locked until the transaction
 * ends: two simultaneous invitations of a new address create one account.
 */
export async function claimAccount(tx: Queryable, email: string): Promise<Account> {
  await tx.query(
    `INSERT INTO accounts (id, email, folded_email) VALUES ($1, $2, $3)
     ON CONFLICT (folded_email) DO NOTHING`,
    [newId(), composeEmail(email), foldEmail(email)],
  )
  // Read by a second statement: one that waits for the lock sees second factors and identities as they were before.
  await tx.query('SELECT FROM accounts WHERE folded_email = $1 FOR UPDATE', [foldEmail(email)])
  return (await findAccount(tx, email)) as Account
}

/**
 * Gives an account its first password, or none where single sign-on lets it in, and by that its first organization
 * (specification 5.4).
 */
export async function registerAccount(
  tx: Queryable,
  id: string,
  account: { passwordHash: string | null; registeredIn: string },
): Promise<void> {
  await tx.orm
    .update(accounts)
    .set({ ...account, updatedAt: sql`now()` })
    .where(eq(accounts.id, id))
}

/** Sets the root by which a new account shares fairly (fair/roots.ts), before it gets its first password. */
export async function setRoot(tx: Queryable, id: string, root: string): Promise<void> {
  await tx.query('UPDATE accounts SET root = $2 WHERE id = $1', [id, root])
}

/** The root of a user's account, or of an API key's organization; null if it is one of the server's operator. */
export async function findRootOfUser(tx: Queryable, userId: string): Promise<string | null> {
  const [row] = await tx.query<{ root: string | null }>(
    `SELECT CASE WHEN a.id IS NULL THEN o.root ELSE a.root END AS root FROM users u
       JOIN organizations o ON o.id = u.organization_id LEFT JOIN accounts a ON a.id = u.account_id WHERE u.id = $1`,
    [userId],
  )
  return row?.root ?? null
}

/** The common root of accounts that are registered from a network address within a day; the first of them sets it. */
export async function claimRoot(tx: Queryable, address: string, root: string): Promise<string> {
  const [row] = await tx.query<{ root: string }>(
    `INSERT INTO registrations AS r (address, root) VALUES ($1, $2)
     ON CONFLICT (address) DO UPDATE SET
       root = CASE WHEN r.at < now() - interval '1 day' THEN excluded.root ELSE r.root END,
       at = CASE WHEN r.at < now() - interval '1 day' THEN now() ELSE r.at END
     RETURNING root`,
    [address, root],
  )
  return row?.root ?? root
}

/** Forgets the addresses of registrations after a day. */
export const pruneRegistrations = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'registrations', "at < now() - interval '1 day'")

/**
 * The hash of an account's password, which stays the same until the transaction ends. Opening a session reads it, so
 * that a change of the password either comes first, or finds the session and ends it.
 */
export async function holdPassword(tx: Queryable, id: string): Promise<string | null> {
  const [row] = await tx.query<{ passwordHash: string | null }>(
    'SELECT password_hash AS "passwordHash" FROM accounts WHERE id = $1 FOR SHARE',
    [id],
  )
  return row?.passwordHash ?? null
}

/** Lets nobody else change the account, or open a session of it, until the transaction ends. */
export async function lockAccount(tx: Queryable, id: string): Promise<void> {
  await tx.query('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [id])
}

/** Replaces the password that was verified. Returns false if another change came first. */
export async function replacePassword(
  tx: Queryable,
  id: string,
  { from, to }: { from: string; to: string },
): Promise<boolean> {
  const changed = await tx.query(
    'UPDATE accounts SET password_hash = $3, updated_at = now() WHERE id = $1 AND password_hash = $2 RETURNING id',
    [id, from, to],
  )
  return changed.length > 0
}

/** Sets a password, or takes it away, whatever the present one is. */
export async function updatePassword(tx: Queryable, id: string, passwordHash: string | null): Promise<void> {
  await tx.orm.update(accounts).set({ passwordHash, updatedAt: sql`now()` }).where(eq(accounts.id, id))
}
