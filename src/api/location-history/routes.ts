import { z } from 'zod'
import { isUuid } from '../../../db/client.ts'
import { readHistory, readNewest, readPoint } from '../../../db/queries/history.ts'
import { PIECE_POINTS } from '../../../ingest/bulk.ts'
import { cursorKey, readCursor } from '../../http/cursors.ts'
import { ok } from '../../http/envelope.ts'
import { found, invalid, RequestError } from '../../http/errors.ts'
import { splitIds } from '../../http/lists.ts'
import { visibilityOf } from '../../http/permissions.ts'
import { createStreams } from '../../http/streams.ts'
import type { App, Services } from '../../services.ts'
import { appendKnown } from './bulk.ts'
import * as operations from './schemas.ts'
import { MAX_BYTES, MAX_POINTS } from './schemas.ts'
import { streamPoints } from './stream.ts'
import { findSubjects } from './subjects.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const newestKey = cursorKey.subject
const historyKey = z.object({ recordedAt: cursorKey.time, subject: cursorKey.subject })

export function locationHistoryRoutes(app: App, { db, log, metrics, turns }: Services): void {
  const streams = createStreams()

  const appending = { ...operations.appendPoints, bodyLimit: MAX_BYTES }
  app.post('/location-history/bulk', appending, async ({ body: { points }, publisher, caller }) => {
    if (points.length === 0) throw invalid('points', 'There has to be at least one point.')
    if (points.length > MAX_POINTS) {
      throw new RequestError('too-large', `A request holds at most ${MAX_POINTS} points.`)
    }
    if (!log || log.full)
      throw new RequestError('unavailable', 'Too much is waiting to be stored. Send the request again.')
    const subjects = await findSubjects(db, publisher, caller, points)
    const result = await appendKnown(points, subjects, { log, metrics: metrics.ingest, turns })
    // To write what many are answered with takes long as well.
    if (points.length > PIECE_POINTS) await turns.pass(publisher.organizationId)
    if (!result)
      throw new RequestError('unavailable', 'The points could not be stored yet. Send the request again.')
    if (result.rejected.length < points.length) return ok(result, 'Points accepted')
    const errors = result.rejected.map(({ index, reason, message }) => ({
      path: reason === 'unknown-device' ? `points.${index}.deviceId` : `points.${index}`,
      message,
    }))
    throw new RequestError('invalid-input', 'None of the points was accepted.', { errors, data: result })
  })

  app.get('/location-histories', operations.listPoints, async (request, reply) => {
    const { userId, deviceId, vehicleId, ...query } = request.query
    const visibility = visibilityOf(request.caller)
    const filter = {
      subjectIds: [...(splitIds(userId) ?? []), ...(splitIds(deviceId) ?? [])],
      vehicleIds: splitIds(vehicleId) ?? [],
      from: query.from ?? null,
      to: query.to ?? null,
      bbox: query.bbox ?? null,
    }
    if ((userId ?? deviceId ?? vehicleId) === undefined) {
      const after = readCursor(query.cursor, newestKey)
      return streams.send(request, reply, JSON_TYPE, () =>
        streamPoints(query.limit, after ?? 0, (page, key) =>
          readNewest(db.system, visibility, filter, { ...page, after: key ?? 0 }),
        ),
      ) as never
    }
    const after = readCursor(query.cursor, historyKey)
    return streams.send(request, reply, JSON_TYPE, () =>
      streamPoints(query.limit, after, (page, key) =>
        readHistory(db.system, visibility, filter, { ...page, order: query.order, after: key }),
      ),
    ) as never
  })

  app.get('/location-history/:id', operations.getPoint, async ({ caller, params }, reply) => {
    const [subjectId, time = ''] = params.id.split('_')
    const recordedAt = /^\d{1,15}$/.test(time) ? Number(time) : null
    const text =
      isUuid(subjectId) && recordedAt !== null
        ? await readPoint(db.system, visibilityOf(caller), subjectId, recordedAt)
        : null
    const answer = `{"status":true,"message":"Done","data":${found('point', text)}}`
    // Text of SQL goes out as it is.
    return reply
      .type(JSON_TYPE)
      .serializer((payload: unknown) => payload as string)
      .send(answer as never) as never
  })
}
