import type { Field } from '../../db/schema/flows.ts'
import { fold } from '../imports/values/fold.ts'

/**
 * What stands above the columns of a type's fields in a spreadsheet, by their keys: the label, and the key beside it where
 * another field has a label that looks the same, since a file with two such columns can be read in two ways. An import
 * knows the columns by the same headings.
 */
export function headingsOf(fields: readonly Pick<Field, 'key' | 'label'>[]): Map<string, string> {
  const headings = new Map(fields.map(({ key, label }) => [key, label]))
  const taken = new Set<string>()
  for (const { key, label } of fields) {
    const isAlone = fields.every(other => other.key === key || fold(other.label) !== fold(label))
    if (isAlone && fold(label) !== '') taken.add(fold(label))
    else headings.delete(key)
  }
  for (const { key, label } of fields) {
    if (headings.has(key)) continue
    let heading = `${label} (${key})`
    for (let n = 2; taken.has(fold(heading)); n++) heading = `${label} (${key} ${n})`
    taken.add(fold(heading))
    headings.set(key, heading)
  }
  return headings
}
