import { createHash } from 'node:crypto'
import type { Queryable } from '../../../db/client.ts'
import { foldEmail } from '../../../db/email-address.ts'
import { isKnownAddress } from '../../../db/queries/known-addresses.ts'
import { addFailure, clearFailures, readFailures } from '../../../db/queries/login-failures.ts'
import { networkOf } from '../../../fair/network.ts'
import { RequestError } from '../../http/errors.ts'
import { verifyPassword } from './passwords.ts'

/**
 * Slows down password guessing. After 5 failures in a row an account is locked for a minute, after each further failure
 * for twice as long, up to a quarter of an hour. An address is locked for a quarter of an hour after 100 failures,
 * whatever came between. The database counts them, so all processes count together, for unknown e-mail addresses as
 * well.
 *
 * Attempts from an address that the account has signed in from before are counted separately, and are not locked out by
 * the failures of strangers.
 */
const ACCOUNT_FAILURES = 5
const ADDRESS_FAILURES = 100
const FIRST_WAIT_S = 60
const MAX_WAIT_S = 15 * 60

/** A success or a day without a failure deletes the failures of an account. */
const FORGET_ACCOUNT_AFTER_S = 24 * 3600
const FORGET_ADDRESS_AFTER_S = MAX_WAIT_S

/** The seconds that an account or address has to wait after its last failure. */
function waitAfter(failures: number, allowed: number): number {
  if (failures < allowed) return 0
  return allowed === ADDRESS_FAILURES
    ? MAX_WAIT_S
    : Math.min(FIRST_WAIT_S * 2 ** (failures - allowed), MAX_WAIT_S)
}

/** Who guesses at which account. */
interface Guesser {
  /** Null if no account has the e-mail address. */
  accountId: string | null
  email: string
  address: string
}

/**
 * Whether this is the account's password. Counts failures, and throws 429 after too many. Checks the count again after
 * the slow comparison, so that parallel guesses gain nothing. Where the account has a second factor, the right password
 * does not end the count: whoever knows it would have as many guesses at the codes as they like.
 */
export async function checkPassword(
  db: Queryable,
  attempt: Guesser & {
    passwordHash: string | null | undefined
    password: string
    hasSecondFactor: boolean | undefined
  },
): Promise<boolean> {
  const { account, address } = await keysOf(db, attempt)
  const before = await rejectGuessing(db, account, address)
  const matches = await verifyPassword(attempt.passwordHash ?? undefined, attempt.password, address)
  if (!matches) {
    const failures = await addFailure(db, [ofAccount(account), ofAddress(address)])
    if ((failures.get(account) ?? 0) > ACCOUNT_FAILURES) throw tooMany(FIRST_WAIT_S)
    return false
  }
  await rejectGuessing(db, account, address)
  if (before.has(account) && !attempt.hasSecondFactor) await clearFailures(db, account)
  return true
}

/** Under which the failures of an account are counted; those from a known address have the address behind it. */
const keyOf = (email: string) =>
  `account:${createHash('sha256').update(foldEmail(email)).digest('base64url')}`

/** Unlocks an account whose password was replaced by somebody who reads its mail: failures with the old one say nothing. */
export async function forgetFailures(tx: Queryable, email: string): Promise<void> {
  await clearFailures(tx, keyOf(email), { withAddresses: true })
}

/**
 * Whether `verify` takes the code of an account's second factor. Wrong codes count for the account as wrong passwords do.
 * An attempt counts before the code is looked at: however many guesses come at once, five are looked at.
 */
export async function checkCode(
  db: Queryable,
  guesser: Guesser,
  verify: () => Promise<boolean>,
): Promise<boolean> {
  const { account, address } = await keysOf(db, guesser)
  const before = await rejectGuessing(db, account, address)
  const failures = await addFailure(db, [ofAccount(account)])
  // Once the wait is over, one more attempt is allowed.
  const allowed = Math.max(ACCOUNT_FAILURES, (before.get(account)?.failures ?? 0) + 1)
  if ((failures.get(account) ?? 0) > allowed) throw tooMany(FIRST_WAIT_S)
  if (await verify()) {
    await clearFailures(db, account)
    return true
  }
  await addFailure(db, [ofAddress(address)])
  return false
}

const ofAccount = (key: string) => ({ key, forgetAfterS: FORGET_ACCOUNT_AFTER_S })
const ofAddress = (key: string) => ({ key, forgetAfterS: FORGET_ADDRESS_AFTER_S })

/** The keys under which the failures of an account and of a network address are counted. */
async function keysOf(db: Queryable, { accountId, email, address }: Guesser) {
  const everywhere = keyOf(email)
  const from = networkOf(address)
  const isKnown = await isKnownAddress(db, accountId, from)
  return {
    account: isKnown ? `${everywhere}:${from}` : everywhere,
    address: `address:${from}`,
  }
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
  new RequestError('too-many-attempts', 'Too many failed attempts. Wait before you try again.', {}, seconds)
