import { foldEmail } from './email-address.ts'
import type { Field } from './schema/flows.ts'

/** How a unique value is compared: addresses without case, all else as it is. */
export function uniqueValue(field: Pick<Field, 'type'>, value: unknown): string {
  return field.type === 'email' ? foldEmail(String(value)) : String(value)
}
