import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { BusyError, createSemaphore } from '../../../fair/semaphore.ts'
import { RequestError } from '../../http/errors.ts'

/** Argon2id with the parameters of OWASP's password storage cheat sheet (19 MiB, 2 passes, 1 lane). */
const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const MIN_PASSWORD_LENGTH = 10
export const MAX_PASSWORD_LENGTH = 1_000

/**
 * Each hash takes a core for 20 ms, and one of the four threads that also read files: 60 wrong logins at once delayed
 * other requests by 7 s. So one core stays free, and the callers take turns.
 */
const MAX_AT_ONCE = Math.max(1, availableParallelism() - 1)
const MAX_WAITING = 100
const WAIT_MS = 10_000
const RETRY_AFTER_S = 5
const semaphore = createSemaphore({
  max: MAX_AT_ONCE,
  maxPerRoot: MAX_AT_ONCE,
  maxWaiting: MAX_WAITING,
  waitMs: WAIT_MS,
})

/** `owner` is an address or an organization. Throws 429 if too many of its passwords wait, or one waits too long. */
async function inTurn<T>(owner: string, work: () => Promise<T>): Promise<T> {
  const release = await semaphore.acquire(owner).catch((error: unknown) => {
    if (!(error instanceof BusyError)) throw error
    throw new RequestError('rate-limited', 'Too many passwords are being checked.', {}, RETRY_AFTER_S)
  })
  return work().finally(release)
}

export function hashPassword(password: string, owner: string): Promise<string> {
  return inTurn(owner, () => hash(password, OPTIONS))
}

// The hash of a password that nobody has, so that an unknown address takes as long as a wrong password.
let nobody: Promise<string> | undefined

/** Whether the password matches the hash. Without a hash it takes as long, and returns false. */
export function verifyPassword(
  passwordHash: string | undefined,
  password: string,
  owner: string,
): Promise<boolean> {
  return inTurn(owner, async () => {
    nobody ??= hash('nobody has this password', OPTIONS)
    const matches = await verify(passwordHash ?? (await nobody), password)
    return passwordHash !== undefined && matches
  })
}
