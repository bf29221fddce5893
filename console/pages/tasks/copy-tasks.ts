import { answered, api } from '../../api/client.ts'
import { Failure } from '../../api/failure.ts'
import type { NewTask } from './day-copy.ts'

/** Requests at a time: a server answers these at once, and 500 tasks take some seconds. */
const AT_ONCE = 4

/** Runs over a list with some requests at a time. Returns the results, and the first error. */
async function forEach<One, Result>(list: readonly One[], run: (one: One) => Promise<Result>) {
  const waiting = [...list]
  const results: Result[] = []
  const failed: One[] = []
  let error: unknown = null
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        results.push(await run(next))
      } catch (cause) {
        error ??= cause
        failed.push(next)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { results, failed, error }
}

export interface Copy {
  /** The same for every attempt: an answer that was lost creates no second task. */
  key: string
  body: NewTask
}

/** Creates the copies. Returns the identifiers of the new tasks, and the copies that could not be created. */
export async function createCopies(copies: readonly Copy[], onDone: () => void) {
  const { results, failed, error } = await forEach(copies, async ({ key, body }) => {
    const headers = { 'Idempotency-Key': key }
    const { data } = await answered(api.POST('/api/v3/task', { body, params: { header: headers } }))
    onDone()
    return data._id
  })
  return { ids: results, failed, error }
}

/** Takes new tasks back. A task that is gone already is no error. */
export async function deleteTasks(ids: readonly string[]): Promise<void> {
  const { error } = await forEach(ids, async id => {
    try {
      await answered(api.DELETE('/api/v3/task/{id}', { params: { path: { id } } }))
    } catch (cause) {
      if (!(cause instanceof Failure && cause.status === 404)) throw cause
    }
  })
  if (error !== null) throw error
}
