import { useQuery } from '@tanstack/react-query'
import { answered, api } from '../../api/client.ts'
import type { Choice } from '../../parts/parts.tsx'
import { useWorkspace } from '../../shell/workspace.tsx'
import { useTexts } from '../../texts/texts.tsx'

/** As many as a list answers at once. */
const MANY = { limit: 500, sort: 'name' } as const
const params = { params: { query: MANY } }

const READERS = {
  devices: async () => (await answered(api.GET('/api/v3/devices', params))).data,
  vehicles: async () => (await answered(api.GET('/api/v3/vehicles', params))).data,
  hubs: async () => (await answered(api.GET('/api/v3/hubs', params))).data,
  users: async () => (await answered(api.GET('/api/v3/users', params))).data,
}
const PERMISSIONS = {
  devices: 'view/device',
  vehicles: 'view/vehicle',
  hubs: 'view/hub',
  users: 'view/user',
} as const

/** Records of a kind to choose one from, with their names by identifier. */
export function useChoices(kind: keyof typeof READERS) {
  const { form } = useTexts()
  const { may } = useWorkspace()
  const { data = [] } = useQuery({
    queryKey: [kind, 'choices'],
    enabled: may(PERMISSIONS[kind]),
    queryFn: (): Promise<{ _id: string; name: string }[]> => READERS[kind](),
  })
  const choices: Choice[] = data.map(({ _id, name }) => ({ id: _id, name }))
  return {
    choices,
    orNone: [{ id: '', name: form.none }, ...choices],
    nameOf: (id: string | null | undefined) => (id ? (data.find(one => one._id === id)?.name ?? '…') : '–'),
  }
}
