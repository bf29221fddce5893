import { useQuery } from '@tanstack/react-query'
import { readList, readName } from '../api/lists.ts'
import { useWorkspace } from '../api/workspace.ts'
import { type KindName, permissionTo } from '../kinds.ts'
import { useTexts } from '../texts/texts.tsx'
import { isAwaited } from './awaited.ts'
import type { Choice } from './parts.tsx'
import { useDebounced } from './use-debounced.ts'

/** The most that a list returns at once. Most organizations have no more records of a kind, so all names are known. */
const FIRST = 500
/** The most that a search shows. Another letter finds fewer. */
const FOUND = 50

interface Listed {
  _id: string
  name: string
  vehicleId?: string | null
  deviceId?: string | null
}

const mountOf = ({ vehicleId, deviceId }: Listed): Choice['mount'] =>
  vehicleId ? { kind: 'vehicles', id: vehicleId } : deviceId ? { kind: 'devices', id: deviceId } : undefined

/** The choices that match a text, shown until the server has answered. */
export const filterByName = (choices: readonly Choice[], search: string): Choice[] =>
  choices.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()))

/** The first records of a kind whose name contains a text, found by the server. */
export const useRecords = (kind: KindName, search: string): Choice[] => useFound(kind, search).data ?? []

/** Whether the first records of a kind have come, or will not come. */
export const useAreRead = (kind: KindName): boolean => !isAwaited(useFound(kind, ''))

function useFound(kind: KindName, search: string) {
  const { may } = useWorkspace()
  return useQuery<Choice[]>({
    queryKey: [kind, 'choices', search],
    enabled: may(permissionTo('view', kind)),
    placeholderData: before => before && filterByName(before, search),
    queryFn: async ({ signal }) => {
      const query = search ? { search, limit: FOUND } : { limit: FIRST }
      const found: readonly Listed[] = await readList(kind, { ...query, sort: 'name' }, signal)
      return found.map(record => ({ id: record._id, name: record.name, mount: mountOf(record) }))
    },
  })
}

/**
 * The same for a text that is being typed. A record that does not match disappears at once: if it stayed, the first one found would
 * not get the focus, and another one would be found under a click.
 */
export function useMatching(kind: KindName, text: string): Choice[] {
  const wanted = text.trim()
  const debounced = useDebounced(wanted)
  const records = useRecords(kind, debounced)
  return wanted === debounced ? records : filterByName(records, wanted)
}

/** The name of any record of a kind. */
export function useName(kind: KindName, id: string | null | undefined): string {
  const { form } = useTexts()
  const { may } = useWorkspace()
  const isAllowed = may(permissionTo('view', kind))
  const first = useRecords(kind, '').find(one => one.id === id)
  const { data, error } = useQuery({
    queryKey: [kind, id, 'name'],
    enabled: Boolean(id) && first === undefined && isAllowed,
    queryFn: () => readName(kind, id as string),
  })
  if (!id) return '–'
  return first?.name ?? data ?? (data === null || error || !isAllowed ? form.unknown : '…')
}
