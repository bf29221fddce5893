import { isDuplicate, isReferenced } from '../../db/errors.ts'
import { conflict } from './errors.ts'

/** Carries out `work`; 409 where a unique key keeps it from it: ``unique(`team named ${name}`, () => insertTeam(…))``. */
export async function unique<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isDuplicate(error)
      ? conflict(`There is ${/^[aeio]/.test(name) ? 'an' : 'a'} ${name} already.`, 'not-unique')
      : error
  }
}

/** Carries out `work`, a deletion; 409 with this sentence where other records still refer to what it deletes. */
export async function unreferenced<T>(sentence: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isReferenced(error) ? conflict(sentence, 'in-use') : error
  }
}
