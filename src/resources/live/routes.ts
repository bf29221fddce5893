import { forbidden, RequestError } from '../../http/errors.ts'
import type { App, Services } from '../../services.ts'
import * as operations from './schemas.ts'
import { hasLiveMessages } from './topics.ts'
import { createUsers } from './users.ts'
import { createViewers } from './viewers.ts'

const NOTHING_TO_TELL =
  'Your role lacks the permissions of all that the live socket tells of: view/location, view/task, import/data, export/data and export/task.'

/**
 * Sends live positions, and records as they change. A socket is opened with a token and stays open as long as its
 * session and, while it is subscribed to positions, as long as that permission. Its messages follow the role.
 * `stream/live/` decides which positions are sent.
 */
export function liveRoutes(app: App, services: Services): void {
  const { config, live } = services
  const users = createUsers(config.liveSocketsPerUser, error =>
    app.log.error({ err: error }, 'Sending a live view failed'),
  )
  const viewers = live && createViewers(app, live, services, users)

  app.get(
    '/live',
    {
      websocket: true,
      ...operations.openLive,
      preHandler: async ({ caller, raw, ws }) => {
        if (!hasLiveMessages(caller)) throw forbidden(NOTHING_TO_TELL)
        // A request without an upgrade opens no socket: it asks whether one may be opened.
        if (!ws) return
        const leave = users.enter(caller.userId)
        if (!leave) throw new RequestError('rate-limited', 'You have as many live sockets open as you may.')
        // Registered before the upgrade, not with the socket's listeners, because many upgrades may come at once.
        raw.socket.once('close', leave)
      },
    },
    (socket, request) => {
      viewers?.add(socket, request.caller)
      // Node keeps the request of an upgrade as long as the socket, including 8 KB of permissions.
      Reflect.deleteProperty(request, 'caller')
    },
  )
}
