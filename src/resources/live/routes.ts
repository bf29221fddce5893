import { forbidden, RequestError } from '../../http/errors.ts'
import type { App, Services } from '../../services.ts'
import * as operations from './schemas.ts'
import { isToldAnything } from './topics.ts'
import { createUsers } from './users.ts'
import { createViewers } from './viewers.ts'

const NOTHING_TO_TELL =
  'Your role lacks the permissions of all that the live socket tells of: view/location, view/task, import/data, export/data and export/task.'

/**
 * The live positions, and records as they change. A socket is opened with a token and lives as long as its session, and
 * while it is subscribed to positions as long as that permission; what it is told follows its role. `stream/live/` decides what is sent.
 */
export function liveRoutes(app: App, services: Services): void {
  const { config, live } = services
  const users = createUsers(config.liveSocketsPerUser, error =>
    app.log.error({ err: error }, 'Showing a live view failed'),
  )
  const viewers = live && createViewers(app, live, services, users)

  app.get(
    '/live',
    {
      websocket: true,
      ...operations.openLive,
      preHandler: async ({ caller, raw }) => {
        if (!isToldAnything(caller)) throw forbidden(NOTHING_TO_TELL)
        const leave = users.enter(caller.userId)
        if (!leave) throw new RequestError('rate-limited', 'You have as many live sockets open as you may.')
        // Before the upgrade, and not with the socket's listeners: many may come at once.
        raw.socket.once('close', leave)
      },
    },
    (socket, request) => {
      viewers?.add(socket, request.caller)
      // Node keeps the request of an upgrade as long as the socket, and 8 KB of permissions with it.
      Reflect.deleteProperty(request, 'caller')
    },
  )
}
