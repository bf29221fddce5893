import type { App } from '../../services.ts'
import { eventsDocument } from './events.ts'
import * as operations from './schemas.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

export function interfaceRoutes(app: App): void {
  // Written once: it is half a megabyte, and the same for everybody.
  let document = ''
  app.get('/openapi.json', operations.getDocument, async (_request, reply) => {
    const parsed = app.swagger()
    document ||= JSON.stringify(parsed)
    reply.type(JSON_TYPE).serializer(() => document)
    return { ...parsed }
  })

  const events = JSON.stringify(eventsDocument)
  app.get('/webhooks.json', operations.getEvents, async (_request, reply) => {
    reply.type(JSON_TYPE).serializer(() => events)
    return eventsDocument
  })
}
