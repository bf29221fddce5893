import type { RowError } from '../../../db/queries/imports.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { MAX_MISSED_KEYS } from './limits.ts'
import type { ReadRow } from './read-rows.ts'
import { OF_HIDDEN_FIELD, reportOf } from './report.ts'
import type { Target } from './target.ts'

/** The rows of a batch that fail, with their errors. */
export class FailedRows {
  readonly #errors = new Map<number, RowError[]>()
  readonly #rows: ReadonlyMap<number, ReadRow>
  readonly #target: Target

  /** Rows that could not be read have failed already. */
  constructor(target: Target, rows: readonly ReadRow[]) {
    this.#target = target
    this.#rows = new Map(rows.map(read => [read.row, read]))
    for (const { row, errors } of rows) if (errors.length > 0) this.#errors.set(row, errors)
  }

  has(row: number): boolean {
    return this.#errors.has(row)
  }

  add(row: number, ...found: RowError[]): void {
    const errors = found.map(error => this.#withoutHidden(row, error))
    const before = this.#errors.get(row) ?? []
    const warnings = before.length > 0 ? [] : (this.#rows.get(row)?.warnings ?? [])
    this.#errors.set(row, reportOf([...before, ...errors, ...warnings]))
  }

  list(): { row: number; errors: RowError[] }[] {
    return [...this.#errors].map(([row, errors]) => ({ row, errors })).sort((a, b) => a.row - b.row)
  }

  /** The label of a hidden field must not be disclosed unless the row itself has a value for the field. */
  #withoutHidden(row: number, error: RowError): RowError {
    const { access, type } = this.#target
    if (error.field === null || !access.hides(type._id, error.field)) return error
    const given = JSON.parse(this.#rows.get(row)?.values as string)
    return Object.hasOwn(given, error.field) ? error : OF_HIDDEN_FIELD
  }
}

/** The rows of a batch, before the database is asked. */
export interface CheckedRows {
  failed: FailedRows
  /** The rows that could be read and repeat no earlier one. */
  readable: readonly ReadRow[]
  /** The number of rows that repeat an earlier one and change nothing. */
  repeated: number
  /** The fields of references that have a column. */
  referring: readonly Field[]
  /** The values of the readable rows; empty if no references have to be looked up. */
  parsed: readonly Values[]
}

/** Tells the rows that failed while they were read from those that may be stored. */
export function checkRows(target: Target, rows: readonly ReadRow[]): CheckedRows {
  const failed = new FailedRows(target, rows)
  const { type, mapped } = target
  const good = rows.filter(({ row }) => !failed.has(row))
  const readable = good.filter(({ repeats }) => !repeats)
  const referring = type.fields.filter(field => field.type === 'reference' && mapped.includes(field.key))
  for (const read of rows) if (failed.has(read.row)) rememberMissed(target, read)
  return {
    failed,
    readable,
    repeated: good.length - readable.length,
    referring,
    parsed: referring.length > 0 ? readable.map(({ values }): Values => JSON.parse(values)) : [],
  }
}

/**
 * Remembers, in a dry run, the key of a row that creates no record: references to it fail. Of two rows with one key the
 * first counts, and may have created its record.
 */
export function rememberMissed({ dryRun, missed, type, mapped }: Target, { key, errors }: ReadRow): void {
  if (!dryRun || key === null || missed.size >= MAX_MISSED_KEYS) return
  const isSecond = errors.some(({ field }) => field === type.primaryKey)
  const refersToOwn = type.fields.some(
    field => field.type === 'reference' && field.dataTypeId === type._id && mapped.includes(field.key),
  )
  if (refersToOwn && !isSecond) missed.add(key)
}
