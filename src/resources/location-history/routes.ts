import { isUuid } from '../../../db/client.ts'
import { readPoint } from '../../../db/queries/history.ts'
import { findOrganization } from '../../../db/queries/organizations.ts'
import { PIECE_POINTS } from '../../../ingest/bulk.ts'
import { ok } from '../../http/envelope.ts'
import { type FieldError, found, invalid, RequestError } from '../../http/errors.ts'
import { visibilityOf } from '../../http/permissions.ts'
import { createStreams } from '../../http/streams.ts'
import type { App, Services } from '../../services.ts'
import { appendKnown } from './bulk.ts'
import { findTrips } from './find-trips.ts'
import { csv } from './formats/csv.ts'
import { geojson } from './formats/geojson.ts'
import { gpx } from './formats/gpx.ts'
import { writeJson } from './formats/json.ts'
import { readList, readTracks } from './read.ts'
import { toHistoryRequest, toTripFilter } from './request.ts'
import * as operations from './schemas.ts'
import { MAX_BYTES, MAX_POINTS } from './schemas.ts'
import { writeFile, writeList } from './stream.ts'
import { findSubjects } from './subjects.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const FORMATS = { geojson, gpx, csv }

export function locationHistoryRoutes(app: App, { db, log, metrics, scheduler }: Services): void {
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
    const result = await appendKnown(points, subjects, { log, metrics: metrics.ingest, scheduler })
    // Writing the answer for many points also takes long.
    if (points.length > PIECE_POINTS) await scheduler.pass(publisher.organizationId)
    if (!result)
      throw new RequestError('unavailable', 'The points could not be stored yet. Send the request again.')
    if (result.rejected.length < points.length) return ok(result, 'Points accepted')
    const errors = result.rejected.map(
      ({ index, reason, message }): FieldError =>
        reason === 'unknown-device'
          ? { path: `points.${index}.deviceId`, code: 'not-found', message }
          : { path: `points.${index}`, code: 'invalid', message },
    )
    throw new RequestError('invalid-input', 'None of the points was accepted.', { errors, data: result })
  })

  app.get('/location-histories', operations.listPoints, async (request, reply) => {
    const { query } = request
    const history = toHistoryRequest(request.caller, query)
    if (query.format === 'json') {
      return streams.send(request, reply, JSON_TYPE, async () =>
        writeList(history.limit, await readList(db.system, history), key =>
          history.named ? key : key.subject,
        ),
      ) as never
    }
    const format = FORMATS[query.format]
    reply.header('content-disposition', `attachment; filename="location-history.${format.extension}"`)
    return streams.send(request, reply, format.type, async () =>
      writeFile(format, history.limit, await readTracks(db.system, history)),
    ) as never
  })

  app.get('/location-histories/trips', operations.listTrips, async (request, reply) => {
    const { caller, query } = request
    const filter = toTripFilter(query)
    return streams.send(request, reply, JSON_TYPE, async () => {
      const organization = await db.tenant(caller.organizationId, tx =>
        findOrganization(tx, caller.organizationId),
      )
      const timeZone = query.timezone ?? found('organization', organization).timeZone
      const { stopMinutes } = query
      return whole(ok(await findTrips(db.system, visibilityOf(caller), filter, { stopMinutes, timeZone })))
    }) as never
  })

  app.get('/location-history/:id', operations.getPoint, async ({ caller, params }, reply) => {
    const [subjectId, time = ''] = params.id.split('_')
    const recordedAt = /^\d{1,15}$/.test(time) ? Number(time) : null
    const point =
      isUuid(subjectId) && recordedAt !== null
        ? await readPoint(db.system, visibilityOf(caller), subjectId, recordedAt)
        : null
    const answer = `{"status":true,"message":"Done","data":${writeJson(found('point', point), 1).subarray(1)}}`
    // The text is JSON already and is sent as it is.
    return reply
      .type(JSON_TYPE)
      .serializer((payload: unknown) => payload as string)
      .send(answer as never) as never
  })
}

/** An answer in one piece. */
async function* whole(answer: unknown): AsyncGenerator<string> {
  yield JSON.stringify(answer)
}
