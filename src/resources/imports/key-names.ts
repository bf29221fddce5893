import type { ImportFormat } from '../../../db/queries/imports.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { uniqueValue } from '../../../db/unique-value.ts'
import { isUnclear } from './column-writing.ts'
import { convert, type Style } from './convert.ts'

/**
 * The primary key values that the text of a reference can mean, in the form in which keys are compared, the likeliest
 * first: as written, without surrounding blanks, and as read from a cell of the key, if that is unambiguous. In JSON,
 * which programs write, blanks are not removed.
 */
export function keyNames(
  keyField: Field,
  text: string,
  format: ImportFormat,
  style: Style,
): readonly string[] {
  const isJson = format === 'json'
  const trimmed = isJson ? text : text.trim()
  const cell = isJson ? { json: text } : trimmed
  const read = isUnclear(keyField, cell, style) ? null : convert(keyField, cell, style)
  const meant = read && 'value' in read ? [read.value] : []
  return [...new Set([text, trimmed, ...meant].map(value => uniqueValue(keyField, value)))]
}
