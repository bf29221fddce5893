import type { Queryable } from '../client.ts'
import type { Field } from '../schema/flows.ts'
import { countInSteps } from './records-in-steps.ts'

/**
 * Reads all records of a type for files, in the order of their creation and in steps. Each step is a statement over a
 * bounded number of rows and bytes, so that others wait only briefly (PGlite has one session). SQL builds the text,
 * which is passed on unchanged. Each record occurs once, in its state when it is read.
 */
export interface DataSteps {
  organizationId: string
  dataType: { _id: string; name: string }
  /** The requested fields, in their order. */
  fields: readonly Pick<Field, 'key'>[]
  /** For references: the field that names the referenced record, by the key of the reference. */
  names: ReadonlyMap<string, { dataTypeId: string; key: string }>
  /** Each entry is a list of JSON objects, one of which a matching record contains. */
  filter: readonly (readonly string[])[]
}

/** The shape of a record in the text: an object as `GET /data` shows it, or an array with a value for each field. */
export type TextOf = 'records' | 'cells'

/** The part that is read next. */
export interface StepPage {
  after: string | null
  until: string
  /** Only these records. */
  ids: readonly string[] | null
  rows: number
  maxBytes: number
}

/** A part of the records. */
export interface DataStep {
  /** Separated by commas and newlines. */
  text: string
  count: number
  /** The number of records that were examined. */
  looked: number
  /** The identifier of the last examined record. */
  last: string | null
  ended: boolean
}

/** PostgreSQL accepts 100 arguments. */
const MAX_ARGUMENTS = 50
const KEY = /^[A-Za-z][A-Za-z0-9_]*$/

/** It takes 3.5 µs, as much as the text of eight fields. */
const ISO = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** The records after one of them up to another, at most `rows` and about `maxBytes` of them. */
export async function readDataStep(
  db: Queryable,
  steps: DataSteps,
  as: TextOf,
  page: StepPage,
): Promise<DataStep> {
  const values: unknown[] = []
  const add = (value: unknown) => `$${values.push(value)}`
  const of = [
    `d.organization_id = ${add(steps.organizationId)}`,
    `d.data_type_id = ${add(steps.dataType._id)}`,
    `d.id <= ${add(page.until)}::uuid`,
    ...(page.after === null ? [] : [`d.id > ${add(page.after)}::uuid`]),
    ...(page.ids === null ? [] : [`d.id = ANY(${add(page.ids)}::uuid[])`]),
  ]
  const text = as === 'records' ? recordText(steps, add) : cellsText(steps, add)
  const matching = matches(steps, add)
  const rows = add(page.rows)
  const maxBytes = add(page.maxBytes)
  const created = as === 'records' ? `, ${ISO('d.created_at')} AS created` : ''
  // The rows come in order and are not sorted again: PostgreSQL 15 would sort the texts themselves for an aggregate
  // with ORDER BY.
  const [row] = await db.query<DataStep>(
    `SELECT coalesce(string_agg(text, E',\\n'), '') AS text, count(text)::int4 AS count, count(*)::int4 AS looked,
       (array_agg(id))[count(*)::int4] AS last,
       count(*) < ${rows} AND coalesce(sum(bytes), 0) < ${maxBytes} AS ended
     FROM (
       SELECT d.id, d.bytes, ${matching ? `CASE WHEN ${matching} THEN ${text} END` : text} AS text FROM (
         SELECT d.*, sum(d.bytes) OVER (ORDER BY d.id ROWS UNBOUNDED PRECEDING) AS upto FROM (
           SELECT d.*, octet_length(d.search) AS bytes${created}
           FROM data_records d WHERE ${of.join(' AND ')} ORDER BY d.id LIMIT ${rows}
         ) d
       ) d WHERE d.upto - d.bytes < ${maxBytes}
       -- Without this the text is built twice, once for each use.
       OFFSET 0
     ) d`,
    values,
  )
  return row as DataStep
}

/** The identifiers of all matching records, or null if there are more than `limit`. */
export async function findFewData(db: Queryable, steps: DataSteps, limit: number): Promise<string[] | null> {
  const values: unknown[] = [steps.organizationId, steps.dataType._id]
  const matching = matches(steps, value => `$${values.push(value)}`)
  const rows = await db.query<{ id: string }>(
    `SELECT d.id FROM data_records d WHERE d.organization_id = $1 AND d.data_type_id = $2
     ${matching && `AND ${matching}`} LIMIT ${limit + 1}`,
    values,
  )
  return rows.length > limit ? null : rows.map(({ id }) => id)
}

/** The number of records of the type, matching or not. */
export const countData = (
  db: Queryable,
  { organizationId, dataType }: DataSteps,
  signal: AbortSignal,
): Promise<number> =>
  countInSteps(db, { table: 'data_records', of: { organizationId, dataTypeId: dataType._id } }, signal)

/** Not @> ANY(array): a GIN index cannot answer that. */
const matches = ({ filter }: DataSteps, add: (value: unknown) => string) =>
  filter.map(wanted => `(${wanted.map(json => `d.data @> ${add(json)}::jsonb`).join(' OR ')})`).join(' AND ')

/** Keys become part of the statement. They were checked when the type was created, and are checked here once more. */
function keyOf({ key }: Pick<Field, 'key'>): string {
  if (!KEY.test(key)) throw new Error('A key that is none')
  return key
}

function recordText({ dataType, fields }: DataSteps, add: (value: unknown) => string): string {
  // An absent value is null, which concat_ws leaves out.
  const parts = fields.map(field => `'"${keyOf(field)}":' || (d.data->'${keyOf(field)}')::text`)
  const { _id, name } = dataType
  return `concat('{"_id":"', d.id, '","dataType":', ${add(JSON.stringify({ _id, name }))}::text, ',"data":{',
    ${listed(parts)}, '},"isSample":', d.is_sample::text,
    ',"createdAt":"', created, '","updatedAt":"',
    CASE WHEN d.updated_at = d.created_at THEN created ELSE ${ISO('d.updated_at')} END, '"}')`
}

function cellsText({ fields, names }: DataSteps, add: (value: unknown) => string): string {
  const cells = fields.map(field => {
    const key = keyOf(field)
    const own = `(d.data->'${key}')::text`
    const named = names.get(key)
    if (!named) return `coalesce(${own}, 'null')`
    const name = `(SELECT (r.data->'${keyOf(named)}')::text FROM data_records r
      WHERE r.organization_id = d.organization_id AND r.data_type_id = ${add(named.dataTypeId)}::uuid
        AND r.id = (d.data->>'${key}')::uuid)`
    return `coalesce(${name}, ${own}, 'null')`
  })
  return `concat('[', ${listed(cells)}, ']')`
}

/** The present parts, separated by commas; null if there are none. */
function listed(parts: readonly string[]): string {
  if (parts.length === 0) return 'NULL'
  const lists: string[] = []
  for (let from = 0; from < parts.length; from += MAX_ARGUMENTS)
    lists.push(`nullif(concat_ws(',', ${parts.slice(from, from + MAX_ARGUMENTS).join(', ')}), '')`)
  return lists.length === 1 ? (lists[0] as string) : listed(lists)
}
