import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { failures } from '../../http/envelope.ts'
import { operation } from '../../http/operation.ts'
import { TOPIC_NAMES } from './topics.ts'

const degrees = (max: number) => z.number().min(-max).max(max)
/** Fieldline's identifiers have 36 characters; a longer one identifies nothing. */
const MAX_ID_LENGTH = 100
const ids = (max: number) =>
  z.custom<string[]>(
    // Checked by hand: a list of thousands of wrong identifiers is one error, not thousands.
    value =>
      Array.isArray(value) &&
      value.length <= max &&
      value.every(id => typeof id === 'string' && id.length <= MAX_ID_LENGTH),
    `This has to be a list of at most ${max.toLocaleString('en')} identifiers.`,
  )

/** The messages of a live client. */
const clientMessage = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('subscribe'),
    filter: z
      .strictObject({
        subjectIds: ids(10_000).optional(),
        hubIds: ids(1_000).optional(),
        teamIds: ids(1_000).optional(),
        bbox: z
          .tuple([degrees(180), degrees(90), degrees(180), degrees(90)])
          .refine(([, south, , north]) => south <= north, 'Its south has to be south of its north.')
          .optional(),
      })
      .nullish(),
    since: z.string().max(4_096).nullish(),
  }),
  z.strictObject({ type: z.literal('unsubscribe') }),
  z.strictObject({ type: z.literal('watch'), topics: z.array(z.enum(TOPIC_NAMES)).max(TOPIC_NAMES.length) }),
])

export type ClientMessage = z.infer<typeof clientMessage>

/** Reads a message of a socket; returns a sentence if it is invalid. */
export function readMessage(data: Buffer): ClientMessage | string {
  let value: unknown
  try {
    if (!isUtf8(data)) throw new Error('not UTF-8')
    value = JSON.parse(data.toString())
  } catch {
    return 'The message is not JSON.'
  }
  const result = clientMessage.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0] as z.core.$ZodIssue
  const path = [...issue.path, ...(issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [])].join(
    '.',
  )
  return path === ''
    ? 'The message has to be an object with a type.'
    : `"${path.slice(0, 200)}" is not valid: ${issue.message}`
}

export const openLive = operation(
  {
    access: 'session',
    tags: ['Live'],
    summary: 'Live positions over a WebSocket',
    description: `The token travels in the \`Authorization\` header, or as the subprotocols \`bearer, <token>\`.

It opens to whoever may subscribe or watch anything. Send \`{ "type": "subscribe", "filter": { "subjectIds", "hubIds", "teamIds", "bbox": [w, s, e, n] }, "since": cursor | null }\`
(again to change the filter) or \`{ "type": "unsubscribe" }\`. You receive \`snapshot\` once, then \`positions\` at most four
times a second, each with a \`cursor\`; \`gone\` when a subject leaves the filter or what you may see; \`error\` for a message that
makes no sense, and for a \`subscribe\` without \`view/location\`. \`state\` is \`moving\` above 1 m/s or more than 25 m from where it stood 60 s before, else \`idle\`, also when the newest
fix is a minute old, and \`offline\` when it is as old as the organization's \`settings.offlineAfterMinutes\` (10): what the time alone changes
is sent too. The \`name\` of a device that is mounted on a vehicle is the vehicle's. Subscribe with \`since\` to go on where a lost connection ended: nothing is missed. A cursor that cannot be read leads to a snapshot.

Send \`{ "type": "watch", "topics": ["tasks", "imports", "exports", "geofences", "commands"] }\` (again to change it) to be told of records
as they change, as far as your role allows: \`{ "type": "watching", "topics" }\` says of which. Read the list over HTTP after
that, and you miss nothing from then on. \`{ "type": "import", "import" }\` and \`{ "type": "export", "export" }\` come at most twice a second while it works, and
once at its end. \`{ "type": "task", "task" }\` comes with every change of a task; with \`"deleted": true\` when it goes or you may not see
it any more. \`{ "type": "geofence", "events" }\` has crossings as \`GET /geofence-events\` shows them: new ones, those that are
taken back, and those that hold after all. \`{ "type": "command", "command" }\` comes with every change of a command as
\`GET /device/{id}/commands\` shows it; with \`"deleted": true\` when it is withdrawn. Where your role, hubs or teams become others, \`watching\` comes again: read the lists again.

Closed with 1012 when changes may have been missed: connect and read again. Closed with 4401 when the token ends, 4403 when you have subscribed and \`view/location\` is gone, or nothing is left to watch, 1001 when the server stops, 1008 when you send more than
100 messages or 256 KiB a second for long or leave more than 1 MiB unread. A message has at most 256 KiB, and the filters of a
company's open sockets name at most 300,000 identifiers together. A user has at most 50 sockets (\`LIVE_SOCKETS_PER_USER\`), the next is answered 429.`,
    response: { 101: z.null().describe('The WebSocket is open'), ...failures(401, 403, 426, 429, 503) },
  },
  { role: 'live', apiKey: true },
)
