import { useQuery, useQueryClient } from '@tanstack/react-query'
import { answered, api } from '../../api/client.ts'
import type { components } from '../../api/interface.d.ts'
import { readList } from '../../api/lists.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { useDebounced } from '../../parts/use-debounced.ts'
import { urls } from '../../urls.ts'

type Schemas = components['schemas']
export type DataType = Schemas['DataType']
export type FieldDefinition = Schemas['FieldDefinition']
export type DataRecord = Schemas['DataRecord']

/** The address of a record in the table of its type. */
export const recordUrl = (typeId: string, recordId: string): string =>
  `${urls.record('data-types', typeId)}?record=${recordId}`

const MAX_TYPES = 500
const NONE: DataType[] = []

/** All data types: an organization has at most 200. */
export function useDataTypes(): { types: DataType[]; isRead: boolean; error: unknown } {
  const { may } = useWorkspace()
  const { data, error, isPending } = useQuery({
    queryKey: ['data-types', 'whole'],
    enabled: may('view/data-type'),
    queryFn: ({ signal }) => readList('data-types', { limit: MAX_TYPES, sort: 'name' }, signal),
  })
  return { types: data ?? NONE, isRead: !isPending, error }
}

/** A record in a few words: its name, its primary key, or its first text. */
export function titleOf(record: DataRecord, types: readonly DataType[]): string {
  const { data } = record
  const type = types.find(({ _id }) => _id === record.dataType._id)
  const keys = ['name', type?.primaryKey ?? '', ...(type?.fields.map(({ key }) => key) ?? Object.keys(data))]
  const texts = keys
    .map(key => data[key])
    .filter(value => typeof value === 'string' || typeof value === 'number')
  return String(texts[0] ?? record._id)
}

const path = (id: string) => ({ params: { path: { id } } })
export const readRecord = async (id: string): Promise<DataRecord> =>
  (await answered(api.GET('/api/v3/data/{id}', path(id)))).data

const contains = ({ data }: DataRecord, text: string) =>
  JSON.stringify(Object.values(data)).toLowerCase().includes(text.toLowerCase())

/**
 * Records that contain a text, of one type or of all. Until the server has answered, they are those of the text before that contain
 * this one too: if the others stayed, Enter or a click would choose one of them, or find another one in its place.
 */
export function useFoundRecords(text: string, dataTypeId?: string): DataRecord[] {
  const { may } = useWorkspace()
  const queries = useQueryClient()
  const wanted = text.trim()
  const search = useDebounced(wanted)
  const { data = [] } = useQuery<DataRecord[]>({
    queryKey: ['data', 'choices', dataTypeId ?? '', search],
    enabled: may('view/data'),
    placeholderData: before => before?.filter(one => contains(one, search)),
    queryFn: async ({ signal }) => {
      const query = { limit: 20, ...(search && { search }), ...(dataTypeId && { dataTypeId }) }
      const { data } = await answered(api.GET('/api/v3/data', { params: { query }, signal }))
      // Each of them is shown by its identifier, and need not be read again.
      for (const record of data) queries.setQueryData(['data', record._id], record)
      return data
    },
  })
  return search === wanted ? data : data.filter(one => contains(one, wanted))
}

/** One record by its identifier. */
export function useDataRecord(id: string): DataRecord | undefined {
  const { may } = useWorkspace()
  const { data } = useQuery({
    queryKey: ['data', id],
    enabled: id !== '' && may('view/data'),
    retry: false,
    queryFn: () => readRecord(id),
  })
  return data
}
