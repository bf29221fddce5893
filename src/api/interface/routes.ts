import type { App } from '../../services.ts'
import { type StaticFile, toStaticFile } from '../console/files.ts'
import { type Console, sendFile, sendPage } from '../console/routes.ts'
import { eventsDocument } from './events.ts'
import * as operations from './schemas.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

export function interfaceRoutes(app: App, built: Console | null): void {
  // Written and compressed once: it is 780 kB, 40 compressed, and the same for everybody.
  let document: Promise<StaticFile> | undefined
  app.get('/openapi.json', operations.getDocument, async (request, reply) => {
    document ??= toStaticFile(Buffer.from(JSON.stringify(app.swagger())), JSON_TYPE)
    return sendFile(request, reply, await document)
  })

  app.get('/docs', operations.getPage, async (_request, reply) => {
    // A process without the role api was asked for nothing here (src/http/plugins/process-roles.ts).
    if (built) return sendPage(reply, built.reference, { kind: 'world' })
  })

  const events = JSON.stringify(eventsDocument)
  app.get('/webhooks.json', operations.getEvents, async (_request, reply) => {
    reply.type(JSON_TYPE).serializer(() => events)
    return eventsDocument
  })
}
