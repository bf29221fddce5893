const header = (name: string, description: string, example: string) => ({
  name,
  in: 'header' as const,
  required: true,
  description,
  schema: { type: 'string' as const },
  example,
})

/** The events, as OpenAPI describes webhooks; `security` where the document would otherwise ask for a token. */
export const describeEvents = (security: { security?: [] } = {}) => ({
  'data-source-created': {
    post: {
      operationId: 'data-source-created',
      tags: ['Webhooks'],
      summary: 'A new data source record is created',
      description: `The body is the record's fields as its data type defines them, and nothing else; a field without a
value is absent. Signed as the Standard Webhooks specification says. Answer with any 2xx within 15 seconds; everything
else is tried again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, with the same \`webhook-id\`. 410
disables the webhook. Redirects are not followed.`,
      ...security,
      parameters: [
        header('webhook-id', 'The same for every attempt', 'msg_0190aaaa-0000-7000-8000-000000000000'),
        header('webhook-timestamp', 'When the attempt was made, in seconds since 1970', '1795222800'),
        header(
          'webhook-signature',
          'v1 and the HMAC-SHA256 of id.timestamp.body; two, with a space between, while a secret is rotated',
          'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
        ),
        header('webhook-event', 'The name of the event', 'data-source-created'),
      ],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {
              type: 'object' as const,
              properties: { name: { type: 'string' as const }, phone: { type: 'string' as const } },
              additionalProperties: true,
            },
            example: { name: 'Acme', phone: '+49 30 1234567' },
          },
        },
      },
      responses: {
        '2XX': { description: 'Received' },
        '410': { description: 'No longer wanted: the webhook is disabled' },
      },
    },
  },
})

/** Specification section 6: a document of its own. */
export const eventsDocument = {
  openapi: '3.1.0',
  info: { title: 'Webhooks', version: '1.0.0' },
  webhooks: describeEvents(),
}
