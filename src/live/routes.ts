import type { WebSocket } from 'ws'
import { z } from 'zod'
import { type Caller, findCallers } from '../../db/queries/sessions.ts'
import type { Screen } from '../../stream/live/screens.ts'
import { failures } from '../envelope.ts'
import { scopeOf, sightOf } from '../permissions.ts'
import type { App, Services } from '../services.ts'
import { clientMessage } from './schemas.ts'

const TOKEN_ENDED = 4401
const PERMISSION_LOST = 4403
const SHUTDOWN = 1001

const PING_EVERY_MS = 25_000
const EXPIRY_EVERY_MS = 500
/** Notifications may be lost with their connection, so every open socket is looked at again. */
const CHECK_EVERY_MS = 30_000

const DESCRIPTION = `The token travels in the \`Authorization\` header, or as the subprotocols \`bearer, <token>\`.

Send \`{ "type": "subscribe", "filter": { "subjectIds", "hubIds", "teamIds", "bbox": [w, s, e, n] }, "since": cursor | null }\`
(again to change the filter) or \`{ "type": "unsubscribe" }\`. You receive \`snapshot\` once, then \`positions\` at most four
times a second, each with a \`cursor\`; \`gone\` when a subject leaves the filter or your sight; \`error\` for a message that
makes no sense. Subscribe with \`since\` to go on where a lost connection ended: nothing is missed.

Closed with 4401 when the token ends, 4403 when the permission does, 1001 when the server stops.`

/** Whose screen it is. What its role allows is in the screen's sight. */
type Owner = Pick<Caller, 'sessionId' | 'userId' | 'organizationId' | 'expiresAt'>

interface Viewer {
  socket: WebSocket
  screen: Screen
  owner: Owner
  answered: boolean
}

/**
 * The live positions. A socket is opened with a token and lives as long as its session and permission do; what it
 * sees follows its role. `stream/live/` decides what is sent.
 */
export function liveRoutes(app: App, { db, live }: Services): void {
  const viewers = live && watchViewers(app, db, live)

  app.get(
    '/live',
    {
      websocket: true,
      config: { access: 'view/location', role: 'live' },
      schema: {
        tags: ['Live'],
        summary: 'Live positions over a WebSocket',
        description: DESCRIPTION,
        response: { 101: z.null().describe('The WebSocket is open'), ...failures(401, 403, 503) },
      },
    },
    (socket, request) => {
      viewers?.add(socket, request.caller)
      // Node keeps the request of an upgrade as long as the socket, and 8 KB of permissions with it.
      Reflect.deleteProperty(request, 'caller')
    },
  )
}

function watchViewers(app: App, db: Services['db'], { screens, positions }: NonNullable<Services['live']>) {
  const viewers = new Set<Viewer>()

  function add(socket: WebSocket, caller: Caller): void {
    const screen: Screen = {
      send: text => socket.send(text),
      get waitingBytes() {
        return socket.bufferedAmount
      },
      sight: sightOf(caller),
    }
    const viewer: Viewer = { socket, screen, owner: toOwner(caller), answered: true }
    viewers.add(viewer)
    // At once: a message that comes before its listener is lost.
    socket.on('message', data => take(viewer, data.toString()))
    socket.on('pong', () => {
      viewer.answered = true
    })
    socket.on('close', () => {
      viewers.delete(viewer)
      screens.unsubscribe(screen)
    })
    socket.on('error', error => app.log.info({ err: error }, 'A live socket failed'))
  }

  function take(viewer: Viewer, text: string): void {
    const message = parse(text)
    if (typeof message === 'string') {
      viewer.socket.send(JSON.stringify({ type: 'error', message }))
    } else if (message.type === 'subscribe') {
      screens.subscribe(viewer.screen, message.filter ?? {}, message.since ?? null)
    } else {
      screens.unsubscribe(viewer.screen)
    }
  }

  /** Reads the callers again, all at once: a session may have ended, a role may be another one. */
  async function check(which: (owner: Owner) => boolean): Promise<void> {
    const checked = [...viewers].filter(viewer => which(viewer.owner))
    if (checked.length === 0) return
    const sessionIds = new Set(checked.map(viewer => viewer.owner.sessionId))
    const callers = await findCallers(db.autocommit, [...sessionIds])
    for (const viewer of checked) {
      const caller = callers.get(viewer.owner.sessionId)
      if (!caller) viewer.socket.close(TOKEN_ENDED, 'The token is expired or revoked')
      else if (!scopeOf(caller.permissionDetails, 'view/location'))
        viewer.socket.close(PERMISSION_LOST, 'The permission view/location is gone')
      else {
        viewer.owner = toOwner(caller)
        const sight = sightOf(caller)
        if (JSON.stringify(sight) !== JSON.stringify(viewer.screen.sight))
          screens.changeSight(viewer.screen, sight)
      }
    }
  }

  /** Organizations that are being looked at, and whether something changed again meanwhile. */
  const looking = new Map<string, { again: boolean }>()

  /** Follows a change of who sees what. Many in a row, a thousand devices being made, are looked at together. */
  async function lookAt(organizationId: string): Promise<void> {
    const current = looking.get(organizationId)
    if (current) {
      current.again = true
      return
    }
    const state = { again: true }
    looking.set(organizationId, state)
    try {
      while (state.again) {
        state.again = false
        await positions.refresh(organizationId)
        await check(owner => owner.organizationId === organizationId)
      }
    } finally {
      looking.delete(organizationId)
    }
  }

  const failed = (error: unknown) => app.log.warn({ err: error }, 'Checking the live sockets failed')

  const stopListening = db.onChange(event => {
    switch (event.kind) {
      case 'session':
        return void check(owner => owner.sessionId === event.sessionId).catch(failed)
      case 'user':
        return void check(owner => owner.userId === event.userId).catch(failed)
      case 'sight':
        return void lookAt(event.organizationId).catch(failed)
      case 'resync':
        return void positions
          .refreshAll()
          .then(() => check(() => true))
          .catch(failed)
    }
  })
  const expiry = setInterval(() => {
    const now = Date.now()
    for (const { socket, owner } of viewers)
      if (owner.expiresAt <= now) socket.close(TOKEN_ENDED, 'The token is expired')
  }, EXPIRY_EVERY_MS)
  const checks = setInterval(() => check(() => true).catch(failed), CHECK_EVERY_MS)
  const pings = setInterval(() => {
    for (const viewer of viewers) {
      if (!viewer.answered) viewer.socket.terminate()
      viewer.answered = false
      viewer.socket.ping()
    }
  }, PING_EVERY_MS)

  app.addHook('preClose', async () => {
    stopListening()
    for (const timer of [expiry, checks, pings]) clearInterval(timer)
    for (const { socket } of viewers) socket.close(SHUTDOWN, 'The server is stopping')
  })
  return { add }
}

const toOwner = ({ sessionId, userId, organizationId, expiresAt }: Caller): Owner => ({
  sessionId,
  userId,
  organizationId,
  expiresAt,
})

/** The message, or what is wrong with it. */
function parse(text: string): z.infer<typeof clientMessage> | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'The message is not JSON.'
  }
  const result = clientMessage.safeParse(value)
  return result.success ? result.data : `The message is not valid. ${z.prettifyError(result.error)}`
}
