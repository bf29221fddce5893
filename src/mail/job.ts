import type { Queryable } from '../../db/client.ts'
import type { Job } from '../../db/queries/jobs.ts'
import { type JobContext, type JobKind, Stopped } from '../jobs/kind.ts'
import type { Letter } from './letter.ts'
import type { MailSender } from './sender.ts'

/**
 * A job that sends one mail. What is told and to whom is decided by the resource that starts it:
 *
 * 1. `begin` reads, in a transaction, what the mail says now; null if it is of no use any more.
 * 2. The mail is handed to the SMTP server, outside of any transaction.
 * 3. `end` notes the result, in another transaction.
 *
 * A refusal for good ends the job, anything else is tried again. If the process dies between 2 and 3, or the connection breaks
 * after the mail and before the server's answer, nobody knows whether the server has it: then it is sent again, since a lost
 * invitation is worse than a second one. The twin has the same Message-ID and the same link, which works once; receivers that
 * compare the Message-ID drop it. An orderly stop of the process leaves a mail that is under way some seconds to arrive.
 */
export interface MailJob<Payload> {
  kind: string
  sender: MailSender
  begin(tx: Queryable, job: Job<Payload>): Promise<Letter | null>
  end(tx: Queryable, job: Job<Payload>, result: MailResult): Promise<void>
}

export type MailResult = 'sent' | 'refused' | 'failed'

const S = 1000
const MIN = 60 * S
const H = 60 * MIN
/**
 * The delays after each attempt but the last. Greylisting takes a mail after one to fifteen minutes; a server that is away has a
 * day to come back.
 */
const RETRY_MS = [15 * S, MIN, 5 * MIN, 15 * MIN, 30 * MIN, H, 2 * H, 4 * H, 8 * H, 8 * H]
/** Half of the slots for one root: a company that invites a thousand people delays nobody's forgotten password. */
const SLOTS = 4
/** More than the longest attempt (sender.ts). */
const TIMEOUT_MS = 12 * MIN
/** Less than a stopping process waits for its jobs (src/jobs/runner.ts). */
const FINISH_WITHIN_MS = 4_000

export function createMailJob<Payload>({ kind, sender, begin, end }: MailJob<Payload>): JobKind<Payload> {
  return {
    kind,
    slots: SLOTS,
    slotsPerRoot: SLOTS / 2,
    attempts: RETRY_MS.length + 1,
    backoffMs: attempt => RETRY_MS[attempt - 1] ?? (RETRY_MS.at(-1) as number),
    timeoutMs: TIMEOUT_MS,
    async run({ job, signal, commit }: JobContext<Payload>) {
      const letter = await commit(tx => begin(tx, job))
      if (letter === null) return
      const handing = await sender.send(letter, finishBeforeShutdown(signal))
      // Whether the mail went out before the stop is not known.
      if (handing.kind !== 'sent') signal.throwIfAborted()
      if (handing.kind === 'failed') throw new Error(handing.reason)
      await commit(tx => end(tx, job, handing.kind))
      return handing
    },
    ended: (tx, job) => end(tx, job, 'failed'),
  }
}

/** Aborted with the signal, but later when the process stops: what the server has nearly taken is not sent twice. */
function finishBeforeShutdown(signal: AbortSignal): AbortSignal {
  const controller = new AbortController()
  const abort = () => controller.abort(signal.reason)
  const onAbort = () => {
    const isShutdown = signal.reason instanceof Stopped && signal.reason.why === 'shutdown'
    if (isShutdown) setTimeout(abort, FINISH_WITHIN_MS).unref()
    else abort()
  }
  if (signal.aborted) abort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return controller.signal
}
