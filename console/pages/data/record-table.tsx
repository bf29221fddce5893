import { Link } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { useDebounced } from '../../parts/use-debounced.ts'
import { orderOf, useList } from '../../parts/use-list.ts'
import { useFormat, useLocale, useTexts } from '../../texts/texts.tsx'
import {
  type DataRecord,
  type DataType,
  type FieldDefinition,
  recordUrl,
  titleOf,
  useDataRecord,
  useDataTypes,
} from './data-queries.ts'
import { readFilters } from './filters.tsx'
import { useDataTexts } from './texts.ts'

/** More columns are too narrow to read; the form of a record has all of its fields. */
const MAX_COLUMNS = 6
/** So many columns fit on a phone. */
const MAJOR_COLUMNS = 2

interface Props {
  type: DataType
  /** The fields that the role sees. */
  fields: readonly FieldDefinition[]
  params: URLSearchParams
  onOpen: (recordId: string) => void
  onOrder: (order: string) => void
}

/** The records of a type in columns of its fields. */
export function RecordTable({ type, fields, params, onOpen, onOrder }: Props) {
  const texts = useTexts()
  const t = useDataTexts()
  const format = useFormat()
  const search = useDebounced(params.get('search') ?? '')
  const filters = useDebounced(JSON.stringify(readFilters(params, fields)))
  // The field that names a record comes first.
  const named = fields.find(({ key }) => key === 'name') ?? fields.find(({ key }) => key === type.primaryKey)
  const inOrder = [...new Set([...(named ? [named] : []), ...fields])].slice(0, MAX_COLUMNS)
  const columns: (Column<DataRecord> & { sort?: string })[] = [
    ...inOrder.map((field, index) => ({
      id: field.key,
      title: field.label,
      sort: field.key,
      cell: (record: DataRecord) =>
        index === 0 ? (
          <Link to={recordUrl(type._id, record._id)} tabIndex={-1}>
            <Value field={field} value={record.data[field.key]} />
          </Link>
        ) : (
          <Value field={field} value={record.data[field.key]} />
        ),
      minor: index >= MAJOR_COLUMNS,
    })),
    {
      id: 'createdAt',
      title: t.created,
      sort: 'createdAt',
      cell: record => format.dateTime(record.createdAt),
      minor: true,
    },
  ]
  const sort = orderOf(params.get('sort'), columns, 'createdAt')
  const list = useList(['data', 'list', type._id, search, filters, sort], async (page, signal) => {
    const filter = JSON.parse(filters) as { [key: string]: string }
    const hasFilter = Object.keys(filter).length > 0
    const query = {
      ...page,
      dataTypeId: type._id,
      sort,
      ...(search && { search }),
      ...(hasFilter && { filter }),
    }
    return answered(api.GET('/api/v3/data', { params: { query }, signal }))
  })
  const isNarrowed = search !== '' || filters !== '{}'
  return (
    <Table
      label={type.name}
      columns={columns}
      list={list}
      order={sort}
      onOrder={onOrder}
      empty={isNarrowed ? texts.records.noneFound : t.none}
      emptyHint={isNarrowed ? texts.records.noneFoundHint : t.noneHint}
      onOpen={record => onOpen(record._id)}
      {...(params.has('record') && { opened: params.get('record') ?? '' })}
    />
  )
}

/** A value of a record in the words of its type. */
function Value({ field, value }: { field: FieldDefinition; value: unknown }) {
  const t = useDataTexts()
  const format = useFormat()
  const locale = useLocale()
  if (value === undefined || value === null || value === '') return '–'
  switch (field.type) {
    case 'boolean':
      return value ? t.yes : t.no
    case 'number':
      return new Intl.NumberFormat(locale).format(Number(value))
    case 'date':
      return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(
        Date.parse(String(value)),
      )
    case 'datetime':
      return format.dateTime(String(value))
    case 'multiselect':
      return (value as unknown[]).join(', ')
    case 'location': {
      const { lat, lng, address } = value as { lat: number; lng: number; address?: string }
      return address ?? `${lat}, ${lng}`
    }
    case 'reference':
      return <Reference id={String(value)} />
    default:
      return String(value)
  }
}

/** The record that another one refers to: a click follows it. */
function Reference({ id }: { id: string }) {
  const { types } = useDataTypes()
  const record = useDataRecord(id)
  if (!record) return '…'
  return (
    <Link to={recordUrl(record.dataType._id, id)} tabIndex={-1}>
      {titleOf(record, types)}
    </Link>
  )
}
