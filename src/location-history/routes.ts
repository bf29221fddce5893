import { createGunzip } from 'node:zlib'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { isUuid } from '../../db/client.ts'
import { listDeviceSubjects } from '../../db/queries/devices.ts'
import { readHistory, readNewest, readPoint } from '../../db/queries/history.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import type { Publisher } from '../../ingest/authenticate.ts'
import { readTimestamp } from '../../ingest/fix.ts'
import { takeBulk } from '../../ingest/http.ts'
import type { Subject } from '../../stream/log.ts'
import { failures, id, list, ok, readPageCursor, success } from '../envelope.ts'
import { invalid, notFound, RequestError } from '../errors.ts'
import { scopeOf, sightOf } from '../permissions.ts'
import type { App, Services } from '../services.ts'
import {
  bulk,
  bulkAnswer,
  bulkRefusal,
  historyPoint,
  historyQuery,
  MOST_BYTES,
  MOST_POINTS,
} from './schemas.ts'
import { streamPoints } from './stream.ts'

const tags = ['Location history']
const JSON_TYPE = 'application/json; charset=utf-8'

export function locationHistoryRoutes(app: App, { db, log, metrics }: Services): void {
  app.post(
    '/location-history/bulk',
    {
      config: { access: 'create/location', deviceKey: true, role: 'ingest' },
      bodyLimit: MOST_BYTES,
      preParsing: async (request, _reply, payload) => {
        const encoding = request.headers['content-encoding']
        if (encoding === undefined || encoding === 'identity') return payload
        if (encoding !== 'gzip') throw new RequestError('unsupported-media-type', 'Only gzip is taken here.')
        // The length is that of the packed body; what comes out is counted by the body limit.
        delete request.headers['content-length']
        return payload.pipe(createGunzip())
      },
      schema: {
        tags,
        summary: 'Take up to 5,000 points; 200 when they are durable',
        description: `The subject is the calling user, or the device whose key is the bearer token. Wrong points are
reported one by one and take nothing with them. The same points again are duplicates, which is fine.`,
        body: bulk,
        response: { 200: bulkAnswer, 400: bulkRefusal, ...failures(401, 403, 413, 415, 503) },
      },
    },
    async (request, reply) => {
      const { points } = request.body
      if (points.length === 0) throw invalid('points', 'There has to be at least one point.')
      if (points.length > MOST_POINTS) {
        throw new RequestError('too-large', `A request holds at most ${MOST_POINTS} points.`)
      }
      if (!log || log.full)
        throw new RequestError('unavailable', 'Too much is waiting to be stored. Send the request again.')
      const subjects = await findSubjects(request.publisher, request.caller, points)
      const result = await takeBulk(
        points.map((value, index) => ({ value, of: subjects[index] as Subject })),
        { log, metrics: metrics.ingest },
      )
      if (!result)
        throw new RequestError('unavailable', 'The points could not be stored yet. Send the request again.')
      if (result.rejected.length < points.length) return ok(result, 'Points taken')
      const errors = result.rejected.map(({ index, message }) => ({ path: `points.${index}`, message }))
      reply.code(400)
      const message = 'None of the points could be taken.'
      return { status: false as const, message, requestId: request.id, errors, data: result }
    },
  )

  /** The subject of each point: the publisher's own, or the device that the point names. */
  async function findSubjects(
    publisher: Publisher,
    caller: Caller | undefined,
    points: unknown[],
  ): Promise<Subject[]> {
    const named = points.map(point => {
      const deviceId = (point as { deviceId?: unknown } | null)?.deviceId
      return typeof deviceId === 'string' && deviceId !== publisher.id ? deviceId : null
    })
    const deviceIds = [...new Set(named.filter(deviceId => deviceId !== null))]
    if (deviceIds.length === 0) return points.map(() => publisher)
    if (!caller || scopeOf(caller.permissionDetails, 'create/location') !== 'all') {
      throw new RequestError(
        'forbidden',
        'Points of another device need the permission create/location for all.',
      )
    }
    const keys = await db.tenant(publisher.organizationId, tx =>
      listDeviceSubjects(tx, deviceIds.filter(isUuid), caller.hubIds),
    )
    const { organizationId } = publisher
    const devices = new Map(
      [...keys].map(([id, subject]): [string, Subject] => [
        id,
        { kind: 'device', id, organizationId, subject },
      ]),
    )
    return named.map((deviceId, index) => {
      if (deviceId === null) return publisher
      const device = devices.get(deviceId)
      if (!device) throw invalid(`points.${index}.deviceId`, 'There is no such device.')
      return device
    })
  }

  app.get(
    '/location-histories',
    {
      config: { access: 'view/location' },
      schema: {
        tags,
        summary: 'The points of subjects in order of time',
        description: `Without a subject: the newest point of each that the caller may see. A vehicle's points are those of its
devices while they were mounted. Who sees whose follows the role's scope, the teams and the hubs.`,
        querystring: historyQuery,
        response: { 200: list(historyPoint) },
      },
    },
    async (request, reply) => {
      const query = request.query
      const sight = sightOf(request.caller)
      const asked = query.userId ?? query.deviceId ?? query.vehicleId
      const filter = {
        subjectIds: [...splitIds(query.userId), ...splitIds(query.deviceId)],
        vehicleIds: splitIds(query.vehicleId),
        from: readTime('from', query.from),
        to: readTime('to', query.to),
        bbox: readBox(query.bbox),
      }
      if (asked === undefined) {
        const after = readPageCursor(query.cursor, z.int())
        if (after === null) throw invalid('cursor', 'This is not a cursor of this list.')
        return sendText(
          reply,
          await streamPoints(query.limit, after ?? 0, (limit, key) =>
            readNewest(db.autocommit, sight, filter, { limit, after: key ?? 0 }),
          ),
        )
      }
      const after = readPageCursor(query.cursor, z.object({ recordedAt: z.number(), subject: z.int() }))
      if (after === null) throw invalid('cursor', 'This is not a cursor of this list.')
      return sendText(
        reply,
        await streamPoints(query.limit, after ?? null, (limit, key) =>
          readHistory(db.autocommit, sight, filter, { order: query.order, limit, after: key }),
        ),
      )
    },
  )

  app.get(
    '/location-history/:id',
    {
      config: { access: 'view/location' },
      schema: {
        tags,
        summary: 'One point',
        description: 'Under the `_id` that it has in the history.',
        params: z.object({ id }),
        response: { 200: success(historyPoint) },
      },
    },
    async (request, reply) => {
      const [subjectId, time = ''] = request.params.id.split('_')
      const recordedAt = /^\d{1,15}$/.test(time) ? Number(time) : null
      const text =
        isUuid(subjectId) && recordedAt !== null
          ? await readPoint(db.autocommit, sightOf(request.caller), subjectId, recordedAt)
          : null
      if (!text) throw notFound('point')
      return sendText(reply, `{"status":true,"message":"Done","data":${text}}`)
    },
  )
}

/** Text that SQL has made goes out as it is. */
function sendText(reply: FastifyReply, text: unknown): never {
  return reply
    .type(JSON_TYPE)
    .serializer((payload: unknown) => payload as string)
    .send(text) as never
}

function splitIds(text: string | undefined): string[] {
  return (
    text
      ?.split(',')
      .map(part => part.trim())
      .filter(isUuid) ?? []
  )
}

function readTime(path: string, text: string | undefined): number | null {
  if (text === undefined) return null
  const time = readTimestamp(/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)
  if (time === null) throw invalid(path, `${path} has to be RFC 3339 with an offset, or a time since 1970.`)
  return time
}

function readBox(text: string | undefined): [number, number, number, number] | null {
  if (text === undefined) return null
  const numbers = text.split(',').map(part => (part.trim() === '' ? Number.NaN : Number(part)))
  const [west, south, east, north] = numbers
  const valid =
    numbers.length === 4 &&
    numbers.every(Number.isFinite) &&
    Math.abs(west as number) <= 180 &&
    Math.abs(east as number) <= 180 &&
    (south as number) >= -90 &&
    (north as number) <= 90 &&
    (south as number) <= (north as number)
  if (!valid) throw invalid('bbox', 'bbox has to be west,south,east,north in degrees.')
  return numbers as [number, number, number, number]
}
