import { TOTP } from 'otpauth'
import { type Answer, type Client, createClient } from './client.ts'
import type { Server } from './server.ts'

export const STEP_MS = 30_000

/** The code that an app shows, a number of steps from now. */
export const codeOf = (secret: string, steps = 0, atMs = Date.now()): string =>
  new TOTP({ secret }).generate({ timestamp: atMs + steps * STEP_MS })

export interface TestFactor {
  secret: string
  recoveryCodes: string[]
}

/** Sets up a second factor with the code before the present one, so that the present one can still be used. */
export async function addSecondFactor(client: Client): Promise<TestFactor> {
  const begun = await client.post('/auth/totp')
  if (begun.status !== 200) throw new Error(`Beginning failed: ${JSON.stringify(begun.body)}`)
  const { secret } = begun.body.data
  // The step may end on the way.
  for (let attempt = 0; attempt < 5; attempt++) {
    const confirmed = await client.post('/auth/totp/confirm', { code: codeOf(secret, -1) })
    if (confirmed.status === 200) return { secret, recoveryCodes: confirmed.body.data.recoveryCodes }
  }
  throw new Error('The second factor was not confirmed')
}

/** Signs in with the password. Returns the challenge that asks for a code. */
export async function challengeFor(
  server: Pick<Server, 'url'>,
  { email, password, organizationId }: { email: string; password: string; organizationId?: string },
): Promise<string> {
  const answer = await createClient(server, '').post('/auth/login', { email, password, organizationId })
  if (answer.status !== 401 || answer.body.code !== 'totp-required')
    throw new Error(`No code was asked for: ${JSON.stringify(answer.body)}`)
  return answer.body.challenge
}

export const sendCode = (server: Pick<Server, 'url'>, challenge: string, code: string): Promise<Answer> =>
  createClient(server, '').post('/auth/login/totp', { challenge, code })
