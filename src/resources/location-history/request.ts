import { z } from 'zod'
import type { HistoryFilter } from '../../../db/queries/history-tracks.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { cursorKey, readCursor } from '../../http/cursors.ts'
import { invalid } from '../../http/errors.ts'
import { splitIds } from '../../http/lists.ts'
import { visibilityOf } from '../../http/permissions.ts'
import type { HistoryRequest } from './read.ts'
import { type HistoryQuery, MAX_FILE, MAX_HISTORY, STANDARD_LIMIT, type TripsQuery } from './schemas.ts'

const newestKey = cursorKey.subject
const historyKey = z.object({ recordedAt: cursorKey.time, subject: cursorKey.subject })

/** The request of a query. Throws 400 if its parameters contradict each other. */
export function toHistoryRequest(caller: Caller, query: HistoryQuery): HistoryRequest {
  const { userId, deviceId, vehicleId, format, simplify, maxPoints, cursor } = query
  const named = (userId ?? deviceId ?? vehicleId) !== undefined
  const isFile = format !== 'json'
  if (query.limit !== undefined && query.limit > MAX_HISTORY && !isFile) {
    throw invalid('limit', `This has to be at most ${MAX_HISTORY}, or format one of geojson, gpx and csv.`)
  }
  if (isFile && cursor !== undefined) {
    throw invalid('cursor', 'A file holds everything that matches: ask for another time instead.')
  }
  if (maxPoints !== undefined && simplify !== undefined) {
    throw invalid('maxPoints', 'Give simplify or maxPoints, not both.')
  }
  if (!named && (simplify ?? maxPoints) !== undefined) {
    const path = simplify === undefined ? 'maxPoints' : 'simplify'
    throw invalid(path, 'This needs a subject: name a userId, deviceId or vehicleId.')
  }
  const subject = named ? null : readCursor(cursor, newestKey)
  return {
    visibility: visibilityOf(caller),
    filter: {
      subjectIds: [...(splitIds(userId) ?? []), ...(splitIds(deviceId) ?? [])],
      vehicleIds: splitIds(vehicleId) ?? [],
      from: query.from ?? null,
      to: query.to ?? null,
      bbox: query.bbox ?? null,
      includeAnomalies: query.includeAnomalies === 'true',
    },
    named,
    order: query.order,
    limit: query.limit ?? (isFile ? MAX_FILE : STANDARD_LIMIT),
    after: named ? readCursor(cursor, historyKey) : subject === null ? null : { subject, recordedAt: 0 },
    simplify,
    maxPoints,
  }
}

const YEAR_MS = 366 * 24 * 3_600_000

/** The filter for the trips of a query. Throws 400 unless it names one subject, and if the time is too long. */
export function toTripFilter({ userId, deviceId, vehicleId, from, to }: TripsQuery): HistoryFilter {
  const given = [userId, deviceId, vehicleId].filter(id => id !== undefined)
  if (given.length !== 1 || given[0]?.includes(',')) {
    throw invalid('deviceId', 'Give one userId, one deviceId or one vehicleId.')
  }
  if (to - from > YEAR_MS) throw invalid('from', 'There are at most 366 days between from and to.')
  const subjectIds = [...(splitIds(userId) ?? []), ...(splitIds(deviceId) ?? [])]
  return { subjectIds, vehicleIds: splitIds(vehicleId) ?? [], from, to, bbox: null, includeAnomalies: false }
}
