import { isUuid } from '../../db/client.ts'
import { FieldErrors } from './errors.ts'

/** Identifiers in a body that must name records of one kind. */
interface References {
  /** The kind in words: `data type`. */
  what: string
  /** By their places in the body; null and undefined refer to nothing. */
  ids: { [path: string]: string | null | undefined }
  /** Resolves to those of the identifiers that exist for the caller. */
  find: (ids: string[]) => Promise<ReadonlySet<string>>
  /** The records of this kind that the record refers to already. It may keep these references. */
  present?: readonly (string | null | undefined)[]
}

/** Throws 400 with the place of every identifier that names no record that the caller may refer to. */
export async function checkReferences(...kinds: References[]): Promise<void> {
  const errors = []
  for (const { what, ids, find, present = [] } of kinds) {
    const given = Object.entries(ids).flatMap(([path, id]) => (typeof id === 'string' ? [{ path, id }] : []))
    const asked = given.map(({ id }) => id).filter(isUuid)
    const known = new Set<unknown>([...present, ...(asked.length > 0 ? await find(asked) : [])])
    const missing = given.filter(({ id }) => !known.has(id))
    errors.push(
      ...missing.map(({ path }) => ({
        path,
        code: 'not-found' as const,
        message: `There is no such ${what}.`,
      })),
    )
  }
  const [first] = errors
  if (first) throw new FieldErrors(errors, first.message)
}

/** The identifiers of a list by their places: `memberIds.0`. */
export const placed = (list: string, ids: readonly string[]) =>
  Object.fromEntries(ids.map((id, index) => [`${list}.${index}`, id]))
