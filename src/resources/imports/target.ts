import type { DataType } from '../../../db/queries/data-types.ts'
import type { Import } from '../../../db/queries/imports.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import type { DataAccess } from '../data/access.ts'
import type { Style } from './convert.ts'

/** The target of the rows. The transaction locks the type. */
export interface Target {
  organizationId: string
  type: DataType
  mode: Import['mode']
  dryRun: boolean
  /** Keys of the fields that have a column. */
  mapped: readonly string[]
  /** The data that the sender may see. */
  access: DataAccess
  format: Import['format']
  /** Whether its new records are samples. */
  isSample: boolean
  /** The style for reading the texts of references. */
  style: Style
  /** How much text of existing records one batch reads. */
  maxKnownBytes: number
  /** Keys of rows that create no record, in a dry run: references to them fail. Only the first ones are kept. */
  missed: Set<string>
}

/**
 * Whether the sender may see all given values: otherwise comparing them would reveal hidden ones. A missing value is
 * compared with itself.
 */
export const maySeeAll = ({ access, type }: Target, given: Values) =>
  Object.keys(given).every(key => !access.hides(type._id, key))

/** Whether a field must not be compared: a dry run could try hidden values unnoticed, by the million. */
export const isWithheld = ({ dryRun, access, type }: Target, field: string): boolean =>
  dryRun && access.hides(type._id, field)
