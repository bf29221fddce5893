import { createHash } from 'node:crypto'
import type { Queryable } from '../../../db/client.ts'
import { foldEmail } from '../../../db/email-address.ts'
import { isKnownAddress } from '../../../db/queries/known-addresses.ts'
import { addFailure, clearFailures, readFailures } from '../../../db/queries/login-failures.ts'
import { networkOf } from '../../../fair/network.ts'
import { RequestError } from '../../http/errors.ts'
import { verifyPassword } from './passwords.ts'

/**
 * Slows down whoever guesses passwords: after 5 failures in a row an account is closed for a minute, after each
 * further one for twice as long, up to a quarter of an hour; an address after 100 failures, whatever came between,
 * for a quarter of an hour. Counted in the database, so by all processes together, and for addresses of nobody alike.
 *
 * Whoever comes from an address that the account has signed in from before is counted apart, and not closed out by what strangers
 * have tried.
 */
const ACCOUNT_FAILURES = 5
const ADDRESS_FAILURES = 100
const FIRST_WAIT_S = 60
const MAX_WAIT_S = 15 * 60

/** An account's row of failures ends with a success, or after a day without a failure. */
const FORGET_ACCOUNT_AFTER_S = 24 * 3600
const FORGET_ADDRESS_AFTER_S = MAX_WAIT_S

/** How long after its last failure an account or address has to wait, in seconds. */
function waitAfter(failures: number, allowed: number): number {
  if (failures < allowed) return 0
  return allowed === ADDRESS_FAILURES
    ? MAX_WAIT_S
    : Math.min(FIRST_WAIT_S * 2 ** (failures - allowed), MAX_WAIT_S)
}

/**
 * Whether this is the account's password. Counts failures, and throws 429 where there were too many; it looks again
 * after the slow comparison, so that guesses sent side by side gain nothing.
 */
export async function checkPassword(
  db: Queryable,
  attempt: {
    /** Null for an address of nobody. */
    accountId: string | null
    email: string
    address: string
    passwordHash: string | null | undefined
    password: string
  },
): Promise<boolean> {
  const digest = createHash('sha256').update(foldEmail(attempt.email)).digest('base64url')
  const from = networkOf(attempt.address)
  const isKnown = await isKnownAddress(db, attempt.accountId, from)
  const account = isKnown ? `account:${digest}:${from}` : `account:${digest}`
  const address = `address:${from}`
  const before = await rejectGuessing(db, account, address)
  const matches = await verifyPassword(attempt.passwordHash ?? undefined, attempt.password, address)
  if (!matches) {
    const failures = await addFailure(db, [
      { key: account, forgetAfterS: FORGET_ACCOUNT_AFTER_S },
      { key: address, forgetAfterS: FORGET_ADDRESS_AFTER_S },
    ])
    if ((failures.get(account) ?? 0) > ACCOUNT_FAILURES) throw tooMany(FIRST_WAIT_S)
    return false
  }
  await rejectGuessing(db, account, address)
  if (before.has(account)) await clearFailures(db, account)
  return true
}

async function rejectGuessing(db: Queryable, account: string, address: string) {
  const found = await readFailures(db, [account, address])
  for (const [key, { failures, secondsAgo }] of found) {
    const wait = waitAfter(failures, key === account ? ACCOUNT_FAILURES : ADDRESS_FAILURES) - secondsAgo
    if (wait > 0) throw tooMany(wait)
  }
  return found
}

const tooMany = (seconds: number) =>
  new RequestError('rate-limited', 'Too many failed attempts. Wait before you try again.', {}, seconds)
