import { foldEmail } from './email-address.ts'
import type { Field } from './schema/flows.ts'

/**
 * The name under which the values of a unique field are entered in `data_keys`. E-mail addresses have another one, since
 * they are compared in another form: while a field changes its type, both are there.
 */
export const uniqueName = ({ key, type }: Pick<Field, 'key' | 'type'>): string =>
  type === 'email' ? `${key}@` : key

/**
 * The form in which unique values are compared: e-mail addresses in any spelling, numbers without leading zeros, and
 * everything else unchanged.
 */
export function uniqueValue(field: Pick<Field, 'type'>, value: unknown): string {
  if (field.type === 'email') return foldEmail(String(value))
  return field.type === 'number' ? String(value).replace(/^(-?)0+(?=\d)/, '$1') : String(value)
}
