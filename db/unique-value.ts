import { foldEmail } from './email-address.ts'
import type { Field } from './schema/flows.ts'

/** How a unique value is compared: addresses in whatever spelling, a text as the number that it is of, all else as it is. */
export function uniqueValue(field: Pick<Field, 'type'>, value: unknown): string {
  if (field.type === 'email') return foldEmail(String(value))
  return field.type === 'number' ? String(value).replace(/^(-?)0+(?=\d)/, '$1') : String(value)
}
