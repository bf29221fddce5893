import { createHash, randomBytes } from 'node:crypto'
import type { Queryable } from '../../../db/client.ts'
import { insertChallenge, type LoginChallenge } from '../../../db/queries/login-challenges.ts'
import { RequestError } from '../../http/errors.ts'

const LIFETIME_S = 5 * 60

/** 256 random bits cannot be guessed, so SHA-256 is enough. */
export const digestChallenge = (challenge: string): Buffer => createHash('sha256').update(challenge).digest()

/** The digest of a password's hash, so that a challenge ends with its password, however that is changed. */
export const digestPassword = (passwordHash: string): Buffer =>
  createHash('sha256').update(passwordHash).digest()

/** Keeps a sign-in whose password was right until its code comes. Returns its challenge. */
export async function createChallenge(
  tx: Queryable,
  signIn: { accountId: string; passwordHash: string } & Partial<
    Pick<LoginChallenge, 'wanted' | 'invitation' | 'name'>
  >,
): Promise<string> {
  const challenge = randomBytes(32).toString('base64url')
  const { accountId, passwordHash, wanted = null, invitation = null, name = null } = signIn
  await insertChallenge(tx, {
    ...{ accountId, wanted, invitation, name },
    digest: digestChallenge(challenge),
    passwordDigest: digestPassword(passwordHash),
    lifetimeS: LIFETIME_S,
  })
  return challenge
}

/** The failure that asks for the code. */
export const totpRequired = (challenge?: string): RequestError =>
  new RequestError(
    'totp-required',
    'Send the code of your app, or a recovery code.',
    challenge === undefined ? {} : { challenge },
  )

export const wrongCode = (): RequestError =>
  new RequestError('wrong-code', 'The code is wrong, too old, or was used before.')

export const challengeEnded = (): RequestError =>
  new RequestError('challenge-ended', 'This sign-in has ended. Begin again with your password.')
