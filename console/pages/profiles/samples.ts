import type { components } from '../../api/interface.d.ts'

type Given = Omit<components['schemas']['TrackerMessage'], 'payload'> & { payload?: unknown }

/** A message to try a profile with, as somebody types or pastes it. */
export interface Sample {
  topic: string
  payload: string
  clientId: string | null
  query: { [name: string]: unknown } | null
}

export const EMPTY: Sample = { topic: '', payload: '', clientId: null, query: null }

/** A message that came in or was stored, in the form in which it is changed. */
export const toSample = ({ topic, payload, clientId, query }: Given): Sample => ({
  topic: topic ?? '',
  payload: typeof payload === 'string' ? payload : payload == null ? '' : JSON.stringify(payload, null, 2),
  clientId: clientId ?? null,
  query: query ?? null,
})

export const isSample = (value: unknown): value is Sample =>
  typeof value === 'object' && value !== null && 'payload' in value && typeof value.payload === 'string'

/** The messages as requests give them; empty ones are left out. */
export const toMessages = (samples: readonly Sample[]) => samples.filter(hasContent).map(toMessage)

export const hasContent = ({ payload, query }: Sample): boolean => payload.trim() !== '' || query !== null

const toMessage = ({ topic, payload, clientId, query }: Sample) => ({
  topic: topic.trim() || null,
  payload: payload.trim() === '' ? null : payload,
  clientId,
  query,
})
