import { useQuery } from '@tanstack/react-query'
import { answered, api } from '../../../api/client.ts'
import { useWorkspace } from '../../../api/workspace.ts'

/** More types than this are edited through the API. */
const SHOWN_TYPES = 500

const readTypes = async () =>
  (await answered(api.GET('/api/v3/data-types', { params: { query: { limit: SHOWN_TYPES } } }))).data

export type DataType = Awaited<ReturnType<typeof readTypes>>[number]

/** The data types with their fields; none where the role cannot see them. */
export function useDataTypes(): readonly DataType[] {
  const { may } = useWorkspace()
  const { data } = useQuery({
    queryKey: ['data-types', 'all'],
    enabled: may('view/data-type'),
    queryFn: readTypes,
  })
  return data ?? []
}
