import { z } from 'zod'
import type { AppField, OverHttp } from '../../../ingest/formats/format.ts'
import { pathId, text } from '../../http/envelope.ts'
import { FORM, nothing, operation } from '../../http/operation.ts'

/** The same as for our own requests with points. */
export const MAX_BYTES = 4 * 1024 * 1024
/** A form holds one fix. */
export const FORM_BYTES = 16 * 1024

const RULE = `Signed in with the device's key as bearer token, as Basic's password under any name, or as \`?token=\`. 200 when all
that is right is durable; what is wrong, or cannot be read, is answered 200 as well and listed among the device's rejections,
since the app would send it for ever.`

/** An object of texts. */
const receiptOf = (answer: object) =>
  z.object(Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, text(String(value))])))

/** The parameters of a query. A wrong value becomes a rejection later, so none is validated here. */
const parametersOf = (fields: readonly AppField[]) =>
  Object.fromEntries(
    fields.map(({ names: [name, ...others], description, example }) => {
      const also = others.map(other => `\`${other}\``).join(', ')
      const described = z
        .unknown()
        .optional()
        .describe(also ? `${description}; also as ${also}` : description)
      return [name, described.meta({ type: 'string', ...(example && { examples: [example] }) })]
    }),
  )

/** The operations of an app's format. Every app has its own request and receipt, and none uses our envelope. */
export function appOperations(http: OverHttp) {
  const { summary, description, example, answer, answersTeam, fields } = http
  const body = z.unknown().meta({ type: 'object', additionalProperties: true, examples: [example] })
  const receipt =
    typeof answer === 'string'
      ? {
          description: 'Durable',
          content: { 'text/plain': { schema: z.string().meta({ examples: [answer] }) } },
        }
      : (answersTeam
          ? z.array(z.looseObject({}).describe('A message for the app')).meta({ examples: [answer] })
          : receiptOf(answer)
        ).describe('Durable')
  const promised = {
    access: 'device' as const,
    tags: ['Apps'],
    summary,
    description: `${description}\n\n${RULE}`,
    // Apps add further parameters.
    querystring: z.looseObject(parametersOf(fields ?? [])),
    response: { 200: receipt },
  }
  const config = { deviceKey: true, role: 'ingest', gzip: true, idempotencyKey: false } as const
  const posted = operation({ ...promised, body }, config)
  const consumes = ['application/json', ...(fields ? [FORM] : [])]
  return {
    post: { ...posted, schema: { ...posted.schema, consumes }, bodyLimit: MAX_BYTES },
    get: operation(promised, config),
  }
}

const message = {
  access: 'device' as const,
  tags: ['Connections'],
  summary: 'Send a message of a tracker to a connection',
  description: `For platforms that send requests of their own. The connection's key is the bearer token, Basic's password under any name,
\`?key=\`, or the header that \`headerName\` names. Answered when the points of the message are durable or rejected.`,
  params: z.object({ id: pathId }),
  // Platforms put values of their own into the address.
  querystring: z.looseObject({
    key: z
      .unknown()
      .optional()
      .describe('The key, for platforms that send no header')
      .meta({ type: 'string' }),
  }),
  response: { 200: nothing },
}
const connectionConfig = { connectionKey: true, role: 'ingest', gzip: true, idempotencyKey: false } as const
const posted = operation(
  {
    ...message,
    body: z.unknown().meta({
      type: 'object',
      additionalProperties: true,
      description: 'The message as the platform sends it',
      examples: [{ lat: 52.52, lon: 13.405, device: '860000000000001' }],
    }),
  },
  connectionConfig,
)

/** The operations of a connection of the kind http. */
export const connectionOperations = {
  post: {
    ...posted,
    schema: { ...posted.schema, consumes: ['application/json', FORM] },
    bodyLimit: MAX_BYTES,
  },
  get: operation(
    { ...message, summary: 'Send a message of a tracker in the address', response: message.response },
    connectionConfig,
  ),
}
