import { useQuery } from '@tanstack/react-query'
import { answered, api } from '../../api/client.ts'

export type Connection = Awaited<ReturnType<typeof readConnection>>
export type ConnectionMessage = NonNullable<ReturnType<typeof useMessages>['data']>[number]
export type UnknownReference = NonNullable<ReturnType<typeof useUnknown>['data']>[number]

/** People watch here whether something arrives. The server writes it down once a second. */
const EVERY_MS = 3_000

export const pathTo = (id: string) => ({ params: { path: { id } } })

export const readConnection = async (id: string) =>
  (await answered(api.GET('/api/v3/connection/{id}', pathTo(id)))).data

/** The connection as it is now. */
export const useConnection = (connection: Connection): Connection =>
  useQuery({
    queryKey: ['connections', connection._id, 'now'],
    queryFn: () => readConnection(connection._id),
    initialData: connection,
    staleTime: 0,
    meta: { everyMs: EVERY_MS },
  }).data

export const readMessages = async (id: string) =>
  (await answered(api.GET('/api/v3/connection/{id}/messages', pathTo(id)))).data

export const useMessages = (id: string) =>
  useQuery({
    queryKey: ['connections', id, 'messages'],
    queryFn: () => readMessages(id),
    meta: { everyMs: EVERY_MS },
  })

export const useUnknown = (id: string) =>
  useQuery({
    queryKey: ['connections', id, 'unknown'],
    queryFn: async () => (await answered(api.GET('/api/v3/connection/{id}/unknown', pathTo(id)))).data,
    meta: { everyMs: EVERY_MS },
  })
