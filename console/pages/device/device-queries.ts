import { useQuery } from '@tanstack/react-query'
import { answered, api } from '../../api/client.ts'

/** Whoever mends a tracker looks at the page until it works. */
const DIAGNOSED_EVERY_MS = 5_000
const EVERY_MS = 30_000
const MESSAGES = 50

export type Device = Awaited<ReturnType<typeof readDevice>>

export const pathTo = (id: string) => ({ params: { path: { id } } })

export const readDevice = async (id: string) =>
  (await answered(api.GET('/api/v3/device/{id}', pathTo(id)))).data

/** Why it is not on the map of the user, or of another one. */
export const useDiagnosis = (id: string, userId: string) =>
  useQuery({
    queryKey: ['devices', id, 'diagnosis', userId],
    meta: { everyMs: DIAGNOSED_EVERY_MS },
    queryFn: async ({ signal }) => {
      const query = userId === '' ? {} : { userId }
      const params = { path: { id }, query }
      return (await answered(api.GET('/api/v3/device/{id}/diagnosis', { params, signal }))).data
    },
    placeholderData: before => before,
  })

export const useMounts = (id: string) =>
  useQuery({
    queryKey: ['devices', id, 'mounts'],
    queryFn: async () => (await answered(api.GET('/api/v3/device/{id}/mounts', pathTo(id)))).data,
  })

/** The hours of the last week in which it sent points. */
export const useActivity = (id: string) =>
  useQuery({
    queryKey: ['devices', id, 'activity'],
    meta: { everyMs: 10 * EVERY_MS },
    queryFn: async () => (await answered(api.GET('/api/v3/device/{id}/activity', pathTo(id)))).data,
  })

export const useLinks = (id: string, isSeen: boolean) =>
  useQuery({
    queryKey: ['links', 'of', id],
    enabled: isSeen,
    queryFn: async () => {
      const query = { subjectId: id, limit: 20 }
      return (await answered(api.GET('/api/v3/tracking-links', { params: { query } }))).data
    },
  })

/** A message of a device: a point as it is stored, or what was rejected as it came. */
export interface Message {
  id: string
  receivedAt: string
  outcome: 'stored' | 'anomaly' | 'rejected'
  /** Why it was rejected: in English, from the server. */
  why: string
  text: string
}

/** The last messages of a device, newest first. */
export const useMessages = (id: string, seesPositions: boolean) =>
  useQuery({
    queryKey: ['devices', id, 'messages', seesPositions],
    meta: { everyMs: EVERY_MS },
    queryFn: async ({ signal }) => {
      const [stored, rejected] = await Promise.all([
        seesPositions ? readStored(id, signal) : [],
        readRejected(id, signal),
      ])
      return [...stored, ...rejected]
        .sort((a, b) => Date.parse(b.receivedAt) - Date.parse(a.receivedAt))
        .slice(0, MESSAGES)
    },
  })

async function readStored(id: string, signal: AbortSignal): Promise<Message[]> {
  const query = { deviceId: id, order: 'desc', limit: MESSAGES, includeAnomalies: 'true' } as const
  const answer = await answered(api.GET('/api/v3/location-histories', { params: { query }, signal }))
  // A string is the response in another format.
  const points = typeof answer === 'string' ? [] : answer.data
  return points.map(({ _id, receivedAt, anomaly, subjectId: _, subjectType: __, ...point }) => ({
    ...{ id: _id, receivedAt, why: '' },
    outcome: anomaly ? 'anomaly' : 'stored',
    text: JSON.stringify(point, (_name, value) => value ?? undefined),
  }))
}

async function readRejected(id: string, signal: AbortSignal): Promise<Message[]> {
  const params = { path: { id }, query: { limit: MESSAGES } }
  const { data } = await answered(api.GET('/api/v3/device/{id}/rejections', { params, signal }))
  return data.map(({ _id, receivedAt, message, payload, topic }) => ({
    ...{ id: _id, receivedAt, outcome: 'rejected', why: message },
    text: [topic, payload].filter(Boolean).join(' '),
  }))
}
