import type { ImportFormat } from '../../../db/queries/imports.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { uniqueValue } from '../../../db/unique-value.ts'
import { isUnclear } from './column-writing.ts'
import { convert, type Style } from './convert.ts'

/**
 * The values of a primary key that the text of a reference can mean, as they are compared and the likeliest first: as it is written, without
 * blanks around it, and as a cell of the key itself is read, where there is one way to read it. Programs write JSON, and no blank by mistake.
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
