import type { Field } from '../../db/schema/flows.ts'

/** A column of a spreadsheet that is written. */
export interface Column {
  heading: string
  type: Field['type']
  /** The options of a select or multiselect; empty for other types. */
  options: readonly string[]
  /** The index of the value in its row that the column shows; without it, the column's own index. */
  of?: number
  /** The part of a place that the column shows; without it, all of the place. */
  part?: 'lat' | 'lng' | 'address'
}
