import { type Database, isUuid } from '../../../db/client.ts'
import { type DataRecord, RECORD_COLUMNS } from '../../../db/queries/data.ts'
import type { DataType } from '../../../db/queries/data-types.ts'
import { conditions, type Page, type PageRequest, patternOf, type Sort } from '../../../db/queries/page.ts'
import { listInSteps } from '../../../db/queries/records-in-steps.ts'
import type { UniqueValue } from '../../../db/record-text.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { uniqueName, uniqueValue } from '../../../db/unique-value.ts'
import { inQuery, invalid } from '../../http/errors.ts'
import { type DataAccess, restrictedFields, visibleKeys } from './access.ts'
import { checkValue } from './values.ts'

/** The request of a reader of records. */
export interface RecordsRequest {
  /** The types to search, limited to those that the caller may see; empty if the named type is missing. */
  types: readonly DataType[]
  /** Whether the request names one type: filtering and sorting by a field require that. */
  oneType: boolean
  filter: { [key: string]: string | string[] }
  fields: string[] | undefined
  sort: string
}

/** A list gives no total above this: counting grows with the matches, a page does not. */
const COUNT_UP_TO = 1_000
/** A cursor contains the text at which it continues, and must fit into a URL. */
const SORTED_CHARACTERS = 200
/** Sorts before every number: a cursor cannot hold -Infinity. */
const LEAST = `'-1.7976931348623157e308'::float8`
const RECORD_SORTS = {
  // Identifiers are in the order of creation, and indexed.
  createdAt: { sql: 'd.id', type: 'uuid' },
  updatedAt: { sql: 'd.updated_at', type: 'timestamptz' },
} as const

/** The fields of a `fields` parameter. */
export const splitFields = (text: string | undefined): string[] | undefined =>
  text === undefined
    ? undefined
    : text
        .split(',')
        .map(part => part.trim())
        .filter(part => part !== '')

/** Rejects restricted keys (403, before any other check) and unknown keys (400) anywhere in a request. */
export function checkNamed(
  access: DataAccess,
  { types, oneType, filter, fields = [], sort }: RecordsRequest,
): void {
  const sortKey = sort.replace(/^-/, '')
  const sortField = Object.hasOwn(RECORD_SORTS, sortKey) ? [] : [sortKey]
  const named = [...fields, ...Object.keys(filter), ...sortField]
  const restricted = named.filter(key => types.some(type => access.hides(type._id, key)))
  if (restricted.length > 0) throw restrictedFields(restricted)
  const known = new Set(types.flatMap(type => type.fields.map(({ key }) => key)))
  const unknown = (keys: string[]) => keys.find(key => !known.has(key))
  // The fields of a missing type are unknown; an organization without any type has no fields.
  const areKnown = types.length > 0 || !oneType
  const wrongField = areKnown ? unknown(fields) : undefined
  if (wrongField !== undefined) throw invalid('fields', `There is no field ${wrongField}.`, 'unknown-field')
  for (const [path, keys] of [
    ['filter', Object.keys(filter)],
    ['sort', sortField],
  ] as const) {
    if (keys.length > 0 && !oneType) throw invalid(path, `Name a data type to ${path} by a field.`)
    const wrong = areKnown ? unknown(keys) : undefined
    if (wrong !== undefined) {
      throw invalid(
        path === 'filter' ? `filter.${wrong}` : path,
        `There is no field ${wrong}.`,
        'unknown-field',
      )
    }
  }
}

/** The sort orders of a list of these types. */
export function sortsOf({ types, oneType }: RecordsRequest): { [name: string]: Sort } {
  const [type] = types
  const fields = oneType && type ? type.fields : []
  return { ...RECORD_SORTS, ...Object.fromEntries(fields.map(field => [field.key, sortOf(field)])) }
}

/** Keys were checked when the type was created; they are escaped all the same. */
function sortOf({ key, type }: Field): Sort {
  const path = `'${key.replaceAll(/[^A-Za-z0-9_]/g, '')}'`
  if (type === 'number') return { sql: `coalesce((d.data->>${path})::float8, ${LEAST})`, type: 'float8' }
  const text = type === 'location' ? `d.data->${path}->>'address'` : `d.data->>${path}`
  return { sql: `left(lower(coalesce(${text}, '')), ${SORTED_CHARACTERS})`, type: 'text' }
}

/** One page of the matching records that the caller may see. */
export function listRecords(
  db: Database,
  organizationId: string,
  access: DataAccess,
  request: RecordsRequest,
  page: PageRequest,
): Promise<Page<DataRecord>> {
  const { where, values, add } = conditions()
  add('d.organization_id = ?', organizationId)
  const [only] = request.types
  if (request.oneType) add('d.data_type_id = ?', only?._id)
  else if (access.dataTypeIds) add('d.data_type_id = ANY(?::uuid[])', access.dataTypeIds)
  for (const wanted of only && request.oneType ? readFilters(only, request.filter, inQuery) : []) {
    // Not @> ANY(array): a GIN index cannot answer that.
    where.push(`(${wanted.map(json => `d.data @> $${values.push(json)}::jsonb`).join(' OR ')})`)
  }
  const isFiltered = Object.keys(request.filter).length > 0
  const indexed = isFiltered ? { where: [...where], values: [...values] } : null
  if (page.search) addRestrictedSearch(access, request, page.search, { where, values })
  const listing = {
    columns: RECORD_COLUMNS,
    from: 'data_records d',
    where,
    values,
    // The texts and numbers of a record; the length of a text is known without reading it.
    bytes: 'octet_length(d.search)',
    id: 'd.id',
    sorts: sortsOf(request),
    search: ['d.search'],
    countUpTo: COUNT_UP_TO,
  }
  const of = { organizationId, dataTypeId: request.oneType ? only?._id : undefined }
  return listInSteps(db, { ...listing, table: 'data_records', of, indexed }, page)
}

/**
 * The search index covers all values of a record. If a type has restricted fields, its matches are searched again in
 * the visible fields.
 */
function addRestrictedSearch(
  access: DataAccess,
  { types }: RecordsRequest,
  search: string,
  { where, values }: { where: string[]; values: unknown[] },
): void {
  const param = (value: unknown) => `$${values.push(value)}`
  const restricting = types.filter(type => visibleKeys(access, type).length < type.fields.length)
  if (restricting.length === 0) return
  const pattern = param(patternOf(search))
  const within = restricting.map(type => {
    const visible = new Set(visibleKeys(access, type))
    const texts = type.fields
      .filter(({ key }) => visible.has(key))
      .map(({ key, type }) =>
        type === 'location' ? `d.data->${param(key)}::text->>'address'` : `d.data->>${param(key)}::text`,
      )
    const text = `replace(concat_ws(chr(31), ${["''", ...texts].join(', ')}), chr(10), ' ')`
    return `(d.data_type_id = ${param(type._id)} AND ${text} ILIKE ${pattern})`
  })
  const others = `d.data_type_id <> ALL(${param(restricting.map(({ _id }) => _id))}::uuid[])`
  where.push(`(${[others, ...within].join(' OR ')})`)
}

/**
 * For each filter the possible contents of a matching record, as JSON. The keys are known (`checkNamed`); `nameOf`
 * names a path in a message.
 */
export function readFilters(
  type: DataType,
  filter: RecordsRequest['filter'],
  nameOf = (path: string) => path,
): string[][] {
  return Object.entries(filter).map(([key, given]) => {
    const field = type.fields.find(one => one.key === key) as Field
    return [given].flat().map(text => JSON.stringify({ [key]: readFilter(field, text, nameOf) }))
  })
}

/**
 * Converts a filter's text to the stored form of the field's value. Throws 400 if the field cannot have such a value.
 */
function readFilter(field: Field, text: string, nameOf: (path: string) => string): unknown {
  const { type, key } = field
  const path = `filter.${key}`
  if (type === 'location') throw invalid(path, 'A place cannot be filtered by.')
  if (type === 'multiselect') return [text]
  if (type === 'select') return text
  // A text that is no _id matches nothing, as everywhere in a query.
  if (type === 'reference') return text.toLowerCase()
  const given =
    type === 'number' && text.trim() !== ''
      ? Number(text)
      : type === 'boolean'
        ? text === 'true' || (text === 'false' ? false : text)
        : text
  const checked = checkValue({ ...field, unique: false }, given)
  if ('message' in checked) {
    const { message, code, params } = checked
    throw invalid(path, message, code, { subject: nameOf(path), ...(params && { params }) })
  }
  return checked.value
}

/** Converts a primary key in a path to its stored form; null if the field cannot have such a value. */
export function readPrimaryKey(type: DataType, text: string): UniqueValue | null {
  const field = type.fields.find(({ key }) => key === type.primaryKey)
  if (!field) return null
  const checked = checkValue(field, field.type === 'number' && text.trim() !== '' ? Number(text) : text)
  return 'value' in checked
    ? { field: field.key, name: uniqueName(field), value: uniqueValue(field, checked.value) }
    : null
}

/** The type that a request names, by its identifier or its name; null if it names none. */
export function namedType(query: {
  dataTypeId?: string
  dataTypeName?: string
}): { dataTypeId: string } | { dataTypeName: string } | null {
  if (query.dataTypeId !== undefined)
    return isUuid(query.dataTypeId) ? { dataTypeId: query.dataTypeId } : null
  return query.dataTypeName !== undefined && !query.dataTypeName.includes('\0')
    ? { dataTypeName: query.dataTypeName }
    : null
}
