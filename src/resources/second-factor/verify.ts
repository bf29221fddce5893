import type { Queryable } from '../../../db/client.ts'
import { findSecondFactor, takeRecoveryCode, takeStep } from '../../../db/queries/second-factors.ts'
import type { FactorSecrets } from './secrets.ts'
import { digestRecoveryCode, readCode, stepOf } from './totp.ts'

/** Whether a code opens an account. It is used up by that: neither a process nor a request can use it again. */
export async function takeCode(
  db: Queryable,
  secrets: FactorSecrets,
  accountId: string,
  text: string,
): Promise<boolean> {
  const { kind, code } = readCode(text)
  if (kind === 'recovery') return takeRecoveryCode(db, accountId, digestRecoveryCode(code))
  const factor = await findSecondFactor(db, accountId)
  const secret = factor?.isConfirmed ? secrets.open(factor.secret, accountId) : null
  const step = secret === null ? null : stepOf(secret, code)
  return step !== null && (await takeStep(db, accountId, step))
}
