import { answered, api } from './client.ts'

/** The interface takes no more characters to search for. */
export const MAX_SEARCH = 200

interface Query {
  search?: string
  limit?: number
  sort?: 'name'
}

const path = (id: string) => ({ params: { path: { id } } })

/** The lists of what has a name, in which people look something up, and what a role needs to. */
export const LISTS = {
  devices: {
    permission: 'view/device',
    read: async (query: Query, signal?: AbortSignal) =>
      (await answered(api.GET('/api/v3/devices', { params: { query }, signal }))).data,
    readOne: async (id: string) => (await answered(api.GET('/api/v3/device/{id}', path(id)))).data,
  },
  vehicles: {
    permission: 'view/vehicle',
    read: async (query: Query, signal?: AbortSignal) =>
      (await answered(api.GET('/api/v3/vehicles', { params: { query }, signal }))).data,
    readOne: async (id: string) => (await answered(api.GET('/api/v3/vehicle/{id}', path(id)))).data,
  },
  users: {
    permission: 'view/user',
    read: async (query: Query, signal?: AbortSignal) =>
      (await answered(api.GET('/api/v3/users', { params: { query }, signal }))).data,
    readOne: async (id: string) => (await answered(api.GET('/api/v3/user/{id}', path(id)))).data,
  },
  teams: {
    permission: 'view/team',
    read: async (query: Query, signal?: AbortSignal) =>
      (await answered(api.GET('/api/v3/teams', { params: { query }, signal }))).data,
    readOne: async (id: string) => (await answered(api.GET('/api/v3/team/{id}', path(id)))).data,
  },
  hubs: {
    permission: 'view/hub',
    read: async (query: Query, signal?: AbortSignal) =>
      (await answered(api.GET('/api/v3/hubs', { params: { query }, signal }))).data,
    readOne: async (id: string) => (await answered(api.GET('/api/v3/hub/{id}', path(id)))).data,
  },
  geofences: {
    permission: 'view/geofence',
    read: async (query: Query, signal?: AbortSignal) =>
      (await answered(api.GET('/api/v3/geofences', { params: { query }, signal }))).data,
    readOne: async (id: string) => (await answered(api.GET('/api/v3/geofence/{id}', path(id)))).data,
  },
} as const

export type ListName = keyof typeof LISTS
