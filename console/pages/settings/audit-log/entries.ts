import { answered, api } from '../../../api/client.ts'
import { KINDS, PAGE_KINDS } from '../../../kinds.ts'
import type { PageQuery } from '../../../parts/use-list.ts'
import { urls } from '../../../urls.ts'

/** The filters of the list, as the address names them. */
export interface Filter {
  user: string
  resource: string
  record: string
  from: string
  to: string
}

export type Entry = Awaited<ReturnType<typeof readEntries>>['data'][number]

/** Which entries are meant, with the days as instants. */
export interface Asked {
  userId?: string
  resource?: string
  resourceId?: string
  from?: string
  to?: string
}

const DAY_MS = 86_400_000

/** The day after a date. */
const dayAfter = (day: string): string =>
  new Date(Date.parse(`${day}T12:00:00Z`) + DAY_MS).toISOString().slice(0, 10)

/** `startOf` gives the instant at which a day begins in the organization's time zone. */
export function askFor(
  { user, resource, record, from, to }: Filter,
  startOf: (day: string) => number,
): Asked {
  const at = (day: string) => new Date(startOf(day)).toISOString()
  return {
    ...(user && { userId: user }),
    ...(resource && { resource }),
    ...(record && { resourceId: record }),
    ...(from && { from: at(from) }),
    ...(to && { to: at(dayAfter(to)) }),
  }
}

export const readEntries = (query: PageQuery & Asked, signal: AbortSignal) =>
  answered(api.GET('/api/v3/audit-log', { params: { query }, signal }))

/** The page on which a record is shown, if there is one. */
export function addressOf({ resource, resourceId, action }: Entry): string | null {
  if (!resourceId || action === 'delete') return null
  const kind = PAGE_KINDS.find(name => KINDS[name].singular === resource)
  if (kind) return urls.record(kind, resourceId)
  if (resource === 'role') return urls.settingsOf('roles', resourceId)
  if (resource === 'webhook') return urls.settingsOf('webhooks', resourceId)
  return null
}
