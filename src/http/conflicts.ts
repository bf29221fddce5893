import { isDuplicate, isReferenced } from '../../db/errors.ts'
import { conflict } from './errors.ts'

/**
 * Runs `work`, and turns a duplicate of a unique key into 409: `unique('team named', name, () => insertTeam(…))`.
 */
export async function unique<T>(kind: string, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isDuplicate(error)
      ? conflict(`There is ${/^[aeio]/.test(kind) ? 'an' : 'a'} ${kind} ${name} already.`, 'not-unique', {
          name,
        })
      : error
  }
}

/** Runs `work`, a deletion, and answers 409 with this sentence if other records still refer to the deleted one. */
export async function unreferenced<T>(sentence: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isReferenced(error) ? conflict(sentence, 'in-use') : error
  }
}
