import { isFields } from '../../formats/format.ts'

/** A value of a message and its place. */
export interface Leaf {
  /** The names on the way, without those before a list. */
  steps: readonly string[]
  /** The last name in one spelling: `gps_Latitude` is `gpslatitude`. */
  spelling: string
  value: unknown
  /** The names that lead to the list in which it stands; null outside of lists. */
  list: readonly string[] | null
  /** The object of which it is a field; null for a message that is a single value. */
  holder: object | null
}

const MAX_LEAVES = 500
const MAX_DEPTH = 8

export const spell = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** The single values of a message, those of a list by its first element. */
export function listLeaves(payload: unknown): Leaf[] {
  const leaves: Leaf[] = []
  const visit = (
    value: unknown,
    { steps, list, holder }: Pick<Leaf, 'steps' | 'list' | 'holder'>,
    depth: number,
  ): void => {
    if (leaves.length >= MAX_LEAVES || depth > MAX_DEPTH) return
    if (Array.isArray(value)) {
      // A list in a list has no path of its own in a profile.
      if (list === null && isFields(value[0])) visit(value[0], { steps: [], list: steps, holder }, depth + 1)
    } else if (isFields(value)) {
      for (const name of Object.keys(value))
        visit(value[name], { steps: [...steps, name], list, holder: value }, depth + 1)
    } else {
      leaves.push({ steps, spelling: spell(steps.at(-1) ?? ''), value, list, holder })
    }
  }
  visit(payload, { steps: [], list: null, holder: null }, 0)
  return leaves
}

const PLAIN = /^[A-Za-z_][A-Za-z0-9_]*$/

/** The JSONPath of names below a root: `$.payload['gps.lat']`. */
export const pathOf = (root: string, steps: readonly string[]) =>
  steps.reduce(
    (path, name) => (PLAIN.test(name) ? `${path}.${name}` : `${path}['${name.replace(/[\\']/g, '\\$&')}']`),
    `$.${root}`,
  )
