import { getTableColumns, type Table } from 'drizzle-orm'

type Columns<T extends Table> = T['_']['columns']

/** A row as the interface shows it: all columns of the table except `organizationId`, with the identifier as `_id`. */
export type Shown<T extends Table, Hidden extends keyof Columns<T> = never> = { _id: string } & Omit<
  T['$inferSelect'],
  'id' | 'organizationId' | Hidden
>

/** The SELECT list of a `Shown` row, with the alias before its columns: `h.id AS "_id", h.hub_id AS "hubId"`. */
export function shownColumns<T extends Table>(
  table: T,
  alias: string,
  hidden: readonly (keyof Columns<T>)[] = [],
): string {
  return Object.entries(getTableColumns(table))
    .filter(([key]) => key !== 'organizationId' && !hidden.includes(key))
    .map(([key, column]) => `${alias}.${column.name} AS "${key === 'id' ? '_id' : key}"`)
    .join(', ')
}
