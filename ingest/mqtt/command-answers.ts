import { isUtf8 } from 'node:buffer'
import { isUuid } from '../../db/ids.ts'
import type { CommandAnswer } from '../../db/queries/commands.ts'
import { MAX_ANSWER_BYTES } from './limits.ts'
import { topicsOf } from './topics.ts'

/** Why an answer to a command is none. */
export interface BadAnswer {
  reason: 'not-json' | 'bad-shape'
  message: string
}

/** What becomes of an answer: it is stored, or changes nothing; there is no such command; or it is none. */
export type AnswerOutcome = 'taken' | 'unknown' | BadAnswer

/** The command on whose topic a device answers; null for any other topic. */
export function commandOfTopic(deviceId: string, topic: string): string | null {
  const prefix = `${topicsOf({ kind: 'device', id: deviceId })}commands/`
  if (!topic.startsWith(prefix)) return null
  const id = topic.slice(prefix.length)
  return isUuid(id) ? id.toLowerCase() : null
}

/** Reads the answer to a command: `{ "status": "done" | "failed", "result": … }`. */
export function readAnswer(commandId: string, payload: Uint8Array): CommandAnswer | BadAnswer {
  if (payload.length > MAX_ANSWER_BYTES) {
    const max = MAX_ANSWER_BYTES.toLocaleString('en')
    return { reason: 'bad-shape', message: `The answer to a command has at most ${max} bytes.` }
  }
  let value: unknown
  try {
    if (!isUtf8(payload)) throw new Error('not UTF-8')
    value = JSON.parse(Buffer.from(payload).toString('utf8'))
  } catch {
    return { reason: 'not-json', message: 'The answer to a command is not JSON.' }
  }
  const { status, result = null } = (value ?? {}) as { status?: unknown; result?: unknown }
  if (status !== 'done' && status !== 'failed') {
    return { reason: 'bad-shape', message: 'The answer to a command has the status "done" or "failed".' }
  }
  return { id: commandId, status, result: result === null ? null : JSON.stringify(result) }
}
