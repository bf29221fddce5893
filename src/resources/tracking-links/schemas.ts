import { z } from 'zod'
import { TRACKING_LINK_SORTS } from '../../../db/queries/tracking-links.ts'
import {
  deleted,
  failures,
  id,
  isSample,
  list,
  pathId,
  reference,
  success,
  text,
} from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { queryTime } from '../../http/times.ts'

/** A day: what a trail is made from is bounded by it. */
const MAX_TRAIL_MINUTES = 1_440

const TOKEN = 'kTq0T7o5Rk2m1yXjN4Zs8Qw3uEvBhGfLcPdAiSoYx6M'

const subjectType = z.enum(['user', 'device'])

const link = z.object({
  _id: id,
  subjectId: id,
  subjectType,
  userId: id.describe('Who created it'),
  taskId: id.nullable(),
  trailMinutes: z.int().meta({ examples: [60] }),
  expiresAt: z.date(),
  isSample,
  createdAt: z.date(),
  updatedAt: z.date(),
})

const number = (example: number) => z.number().meta({ examples: [example] })

const publicPoint = z.object({
  lat: number(52.52),
  lng: number(13.405),
  timestamp: text('2026-11-21T10:00:00.000Z'),
  speed: number(12.5).nullable(),
  heading: number(270).nullable(),
})

const linkWithToken = link.extend({
  token: text(TOKEN).describe('Shown once'),
  url: text(`https://fieldline.example/track/${TOKEN}`),
})

const tracked = z.object({
  name: text('Van 7'),
  position: publicPoint.nullable(),
  trail: z.array(publicPoint),
  expiresAt: z.date(),
  destination: z
    .object({ lat: number(52.49), lng: number(13.36), address: text('Alexanderplatz 1').nullable() })
    .nullable()
    .optional()
    .describe('The destination of a link with a task; null if the task has no place'),
})

nameSchemas({
  TrackingLink: link,
  TrackedPoint: publicPoint,
  TrackingLinkWithToken: linkWithToken,
  Tracked: tracked,
})

const tags = ['Tracking links']
const params = z.object({ id: pathId })
/** As long as a path may be: what is none of ours is looked for and not there. */
const tokenParams = z.object({ token: text(TOKEN) })

export const listTrackingLinks = operation({
  access: 'view/tracking-link',
  tags,
  summary: 'The tracking links of subjects that the caller may see',
  description: 'Those that are expired stay for 30 days. A token is shown once, when its link is created.',
  querystring: listQuery(TRACKING_LINK_SORTS, '-createdAt')
    .omit({ search: true })
    .extend({
      subjectId: z.string().optional().describe('Identifiers of users and devices, separated by commas'),
    }),
  response: { 200: list(link) },
})

export const createTrackingLink = operation(
  {
    access: 'create/tracking-link',
    tags,
    summary: 'Create a link that shows somebody outside where one subject is',
    description: `Its holder sees the subject's name, its position, and its way of the last \`trailMinutes\`: nothing else. With
\`taskId\`, a task that the caller may see and that is to be done, also where that is (\`destination\`); the link ends when the task
is done or deleted, or its creator may see it no more.
It ends when it expires or is deleted, with its subject, and when whoever created it may no longer see the subject or
create links. \`token\` and \`url\` are shown once.`,
    body: z.strictObject({
      subjectId: reference,
      subjectType,
      expiresAt: queryTime.describe('At most a year from now'),
      trailMinutes: z.int().min(0).max(MAX_TRAIL_MINUTES).default(60),
      taskId: reference.nullable().default(null),
    }),
    response: {
      201: success(linkWithToken),
    },
  },
  { answersSecret: true },
)

export const deleteTrackingLink = operation({
  access: 'delete/tracking-link',
  tags,
  summary: 'Revoke a tracking link',
  description: 'Open pages of the link are disconnected within a second.',
  params,
  response: { 200: deleted },
})

export const getTracked = operation(
  {
    access: 'public',
    tags,
    summary: 'Where the subject of a tracking link is',
    description: `The token stands in for the bearer token. A link that is unknown, expired or revoked is 404 alike. The trail
has at most 500 points that keep its shape.`,
    params: tokenParams,
    response: {
      200: success(tracked),
    },
  },
  { heavy: true },
)

export const openTracked = operation(
  {
    access: 'public',
    tags,
    summary: 'Live positions of the subject of a tracking link over a WebSocket',
    description: `Needs no \`subscribe\`. You receive \`{ "type": "snapshot", "positions": [..], "trailMinutes" }\` once, then
\`{ "type": "positions", "positions": [..] }\` at most four times a second, and one without any every 15
seconds, which says that the connection lives; a position is \`{ lat, lng, timestamp, speed, heading }\`. \`{ "type": "name", "name" }\` says
when the subject's name is another. Of a link with a task the snapshot has its \`destination\` as well, and
\`{ "type": "destination", "destination" }\` says when that is another. Closed with 4403 when the link ends, 1001 when the server stops, 1008 when you send
more than ten messages or leave more than 64 KiB unread. A link has at most 100 sockets open on a process.`,
    params: tokenParams,
    response: { 101: z.null().describe('The WebSocket is open'), ...failures(404, 426, 429, 503) },
  },
  { role: 'live' },
)
