import type { App } from '../../services.ts'
import { type Console, sendFile, sendPage } from '../console/routes.ts'
import { eventsDocument } from './events.ts'
import * as operations from './schemas.ts'

export function interfaceRoutes(app: App, built: Console | null): void {
  // A process without the role api rejects these requests earlier (src/http/plugins/process-roles.ts).
  app.get('/openapi.json', operations.getDocument, async (request, reply) => {
    // The same for everybody; clients ask for it again and get it only if it has changed.
    if (built) return sendFile(request, reply.header('cache-control', 'no-cache'), built.document)
  })

  app.get('/docs', operations.getPage, async (_request, reply) => {
    if (built) return sendPage(reply, built.reference, null)
  })

  const events = JSON.stringify(eventsDocument)
  app.get('/webhooks.json', operations.getEvents, async (_request, reply) => {
    reply.type('application/json; charset=utf-8').serializer(() => events)
    return eventsDocument
  })
}
