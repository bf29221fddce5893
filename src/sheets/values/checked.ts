import type { ErrorParams } from '../../http/envelope.ts'
import type { FieldCode } from '../../http/error-codes.ts'

/** The result of checking a value: the value as it is stored, or why it cannot be stored. The message quotes no value. */
export type Checked = { value: unknown } | { message: string; code?: FieldCode; params?: ErrorParams }
