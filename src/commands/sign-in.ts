import { Fieldline, FieldlineError, type FieldlineOptions } from '#client'
import { say } from './command.ts'
import type { Credential } from './options.ts'

/** While the server is busy or a dependency of it is away. A longer wait is reported. */
const RETRY_FOR_MS = 10 * 60_000
const ANNOUNCE_EVERY_MS = 15_000
/** How to go on after a refusal, by the code of the failure. */
const HINTS: { [code: string]: string } = {
  'wrong-credentials':
    '\nThe first password is FIELDLINE_OWNER_PASSWORD, or the one that the server printed at its first start.',
  'totp-required':
    '\nA command that runs on asks nobody for codes: create an API key in the console, and give it with --token.',
}

/** The server gives no answer; it may return later. */
export const isAway = (error: unknown) => error instanceof FieldlineError && error.status === 0

/** The server answered with a failure that waiting does not solve. */
export const isRefused = (error: unknown): error is FieldlineError =>
  error instanceof FieldlineError && error.status !== 0

/** A client that says when the server asks it to wait, and does not wait for a server that is not there. */
export function openServer(url: string, options: Omit<FieldlineOptions, 'baseUrl'> = {}): Fieldline {
  let announcedAt = Number.NEGATIVE_INFINITY
  const onWait = (failure: FieldlineError) => {
    if (isAway(failure)) throw failure
    if (Date.now() < announcedAt + ANNOUNCE_EVERY_MS) return
    announcedAt = Date.now()
    say(`The server asks to wait: ${failure.message}`)
  }
  return new Fieldline({ baseUrl: url, retryForMs: RETRY_FOR_MS, onWait, ...options })
}

/** A client with the token of a credential. An account signs in, and again when its session has ended. */
export async function signIn(
  url: string,
  credential: Credential,
  onAgain: () => void = () => {},
): Promise<Fieldline> {
  if ('token' in credential) return openServer(url, { token: credential.token })
  const readToken = async () => {
    try {
      return (await openServer(url).login(credential)).token
    } catch (error) {
      if (!isRefused(error)) throw error
      const hint = HINTS[error.code] ?? ''
      const message = `Signing in as ${credential.email} failed: ${error.message}${hint}`
      throw new FieldlineError(error.status, error.code, message, error.body)
    }
  }
  // Once it is refused it is not tried again: many attempts would lock the account.
  let refused: Promise<string> | undefined
  const refreshToken = () => {
    if (refused) return refused
    onAgain()
    const token = readToken()
    token.catch(error => {
      if (isRefused(error)) refused = token
    })
    return token
  }
  return openServer(url, { token: await readToken(), refreshToken })
}
