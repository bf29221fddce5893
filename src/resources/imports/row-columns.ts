import type { UniqueValue } from '../../../db/record-text.ts'
import type { ReadRow } from './read-rows.ts'

/**
 * Rows as columns of texts: in this form they pass from the thread that reads to the process that stores. 4,000 rows of
 * eight fields took 15 ms of processor time as JSON, and 2 as columns.
 */
export interface RowColumns {
  row: number[]
  values: string[]
  key: (string | null)[]
  /** The texts of the record that a row would create; null if `others` tells why it creates none. */
  data: (string | null)[]
  search: (string | null)[]
  /** The unique values of these records, in the order of the rows; `at` is the row's index. */
  unique: { at: number[]; field: string[]; name: string[]; value: string[] }
  /** The rest of the few rows that have more, by their index. */
  others: Map<number, Pick<ReadRow, (typeof OTHERS)[number]>>
}

const OTHERS = ['errors', 'warnings', 'toEarlier', 'repeats', 'made'] as const

/** A row's numbers and separators. */
const ROW_CHARACTERS = 100

/** Collects rows. `characters` counts all texts of the rows, including their errors and defaults. */
export class RowCollector {
  readonly columns: RowColumns = {
    row: [],
    values: [],
    key: [],
    data: [],
    search: [],
    unique: { at: [], field: [], name: [], value: [] },
    others: new Map(),
  }
  characters = 0

  get count(): number {
    return this.columns.row.length
  }

  add(read: ReadRow): void {
    const { columns, count: at } = this
    const { row, values, key, made, errors, warnings, toEarlier, repeats } = read
    const record = made && 'data' in made ? made : null
    columns.row.push(row)
    columns.values.push(values)
    columns.key.push(key)
    columns.data.push(record?.data ?? null)
    columns.search.push(record?.search ?? null)
    for (const { field, name, value } of record?.unique ?? []) {
      columns.unique.at.push(at)
      columns.unique.field.push(field)
      columns.unique.name.push(name)
      columns.unique.value.push(value)
    }
    this.characters +=
      ROW_CHARACTERS + values.length + (record ? record.data.length + record.search.length : 0)
    const isPlain = record && errors.length + warnings.length + toEarlier.length === 0 && !repeats
    if (isPlain) return
    const other = { errors, warnings, toEarlier, repeats, made: record ? null : made }
    columns.others.set(at, other)
    this.characters += JSON.stringify(other).length
  }
}

const NONE: never[] = []

/** The rows again, with the same texts. */
export function toRows({ row, values, key, data, search, unique, others }: RowColumns): ReadRow[] {
  let next = 0
  const takeUnique = (at: number): UniqueValue[] => {
    const found: UniqueValue[] = []
    for (; unique.at[next] === at; next++) {
      const [field, name, value] = [unique.field[next], unique.name[next], unique.value[next]]
      found.push({ field, name, value } as UniqueValue)
    }
    return found
  }
  return row.map((number, at) => {
    const other = others.get(at)
    const text = data[at] as string | null
    return {
      row: number,
      values: values[at] as string,
      key: key[at] as string | null,
      errors: other?.errors ?? NONE,
      warnings: other?.warnings ?? NONE,
      toEarlier: other?.toEarlier ?? NONE,
      repeats: other?.repeats ?? false,
      made:
        text === null
          ? (other?.made ?? null)
          : { data: text, search: search[at] as string, unique: takeUnique(at) },
    }
  })
}
