import { answered, api } from './client.ts'

/** The interface takes no more characters to search for. */
export const MAX_SEARCH = 200

interface Query {
  search?: string
  /** Identifiers, separated by commas. */
  _id?: string
  limit?: number
  sort?: 'name'
}

/** The lists of what has a name, in which people look something up, and what a role needs to. */
export const LISTS = {
  devices: {
    permission: 'view/device',
    read: async (query: Query, signal?: AbortSignal) =>
      (await answered(api.GET('/api/v3/devices', { params: { query }, signal }))).data,
  },
  vehicles: {
    permission: 'view/vehicle',
    read: async (query: Query, signal?: AbortSignal) =>
      (await answered(api.GET('/api/v3/vehicles', { params: { query }, signal }))).data,
  },
  users: {
    permission: 'view/user',
    read: async (query: Query, signal?: AbortSignal) =>
      (await answered(api.GET('/api/v3/users', { params: { query }, signal }))).data,
  },
  teams: {
    permission: 'view/team',
    read: async (query: Query, signal?: AbortSignal) =>
      (await answered(api.GET('/api/v3/teams', { params: { query }, signal }))).data,
  },
  hubs: {
    permission: 'view/hub',
    read: async (query: Query, signal?: AbortSignal) =>
      (await answered(api.GET('/api/v3/hubs', { params: { query }, signal }))).data,
  },
  geofences: {
    permission: 'view/geofence',
    read: async (query: Query, signal?: AbortSignal) =>
      (await answered(api.GET('/api/v3/geofences', { params: { query }, signal }))).data,
  },
} as const

export type ListName = keyof typeof LISTS

/** As many fit into an address with room to spare. */
const MAX_IDS = 100
/** What a table needs that is scrolled is asked for at once, and nobody sees that it came later. */
const GATHER_MS = 30

function gatherNames(kind: ListName) {
  let gathered: { ids: Set<string>; names: Promise<ReadonlyMap<string, string>> } | null = null
  const gather = () => {
    const ids = new Set<string>()
    const names = new Promise(resolve => setTimeout(resolve, GATHER_MS)).then(async () => {
      if (gathered?.ids === ids) gathered = null
      const query = { _id: [...ids].join(), limit: ids.size }
      const found: readonly { _id: string; name: string }[] = await LISTS[kind].read(query)
      return new Map(found.map(({ _id, name }) => [_id, name]))
    })
    return { ids, names }
  }
  return async (id: string): Promise<string | null> => {
    const wanted = id.toLowerCase()
    if (!gathered || gathered.ids.size === MAX_IDS) gathered = gather()
    gathered.ids.add(wanted)
    return (await gathered.names).get(wanted) ?? null
  }
}

const names = {
  devices: gatherNames('devices'),
  vehicles: gatherNames('vehicles'),
  users: gatherNames('users'),
  teams: gatherNames('teams'),
  hubs: gatherNames('hubs'),
  geofences: gatherNames('geofences'),
}

/** What a record is called, whichever of thousands it is; null where there is none, or none that one may see. */
export const readName = (kind: ListName, id: string): Promise<string | null> => names[kind](id)
