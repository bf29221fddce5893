import type { WebSocket } from 'ws'
import { type Caller, findCallers } from '../../../db/queries/sessions.ts'
import type { Visibility } from '../../../db/visibility.ts'
import { TokenBucket } from '../../../fair/token-bucket.ts'
import { type Credential, toPublisher } from '../../../ingest/identity/authenticate.ts'
import type { Ending, Watched } from '../../../ingest/identity/watcher.ts'
import type { LiveClient } from '../../../stream/live/groups.ts'
import { visibilityOf } from '../../http/permissions.ts'
import type { App, Services } from '../../services.ts'
import { createFilterRoom } from './filter-room.ts'
import { MAX_FILTER_IDS, MAX_UNREAD_BYTES, MESSAGE_BYTES, MESSAGES, UNREAD_WITHIN_MS } from './limits.ts'
import { type ClientMessage, readMessage } from './schemas.ts'
import { hasLiveMessages, seesPositions, type TopicName } from './topics.ts'
import type { createUsers } from './users.ts'
import { createWatching } from './watching.ts'

/** Close codes of Fieldline, and of RFC 6455. */
const TOKEN_ENDED = 4401
const PERMISSION_LOST = 4403
const SHUTDOWN = 1001
const POLICY = 1008

const PING_EVERY_MS = 25_000
const POLL_EVERY_MS = 500

/** The user of a socket. */
type Owner = Extract<Credential, { kind: 'user' }>

interface Viewer extends Watched {
  socket: WebSocket
  client: LiveClient
  owner: Owner
  /** The visibility by its role: the client's present one, or the one that it will have next. */
  visibility: Visibility
  /** Whether its role may see positions at all. */
  seesPositions: boolean
  /** Whether it has subscribed to positions. */
  subscribed: boolean
  answered: boolean
  /** Since when it has left too much unread, by `performance.now()`. */
  unreadSince: number | undefined
  /** Messages from one read of the socket that wait for their turn. */
  waiting: Buffer[]
  /** The requested topics, until the request is answered. */
  requestedTopics?: readonly TopicName[] | undefined
}

/** Keeps the open sockets: reads their messages, applies changes of their users' permissions, and closes ended ones. */
export function createViewers(
  app: App,
  { clients, positions }: NonNullable<Services['live']>,
  { db, scheduler, watcher }: Pick<Services, 'db' | 'scheduler' | 'watcher'>,
  users: ReturnType<typeof createUsers>,
) {
  const viewers = new Set<Viewer>()
  const filters = createFilterRoom()
  const watching = createWatching(db, error => app.log.warn({ err: error }, 'Sending changed records failed'))

  function add(socket: WebSocket, caller: Caller): void {
    const client: LiveClient = {
      send: text => socket.send(text),
      get waitingBytes() {
        return socket.bufferedAmount
      },
      visibility: visibilityOf(caller),
    }
    const viewer: Viewer = {
      socket,
      client,
      owner: toPublisher(caller),
      visibility: client.visibility,
      seesPositions: seesPositions(caller),
      subscribed: false,
      answered: true,
      unreadSince: undefined,
      waiting: [],
      follow: now => follow(viewer, now),
      end: why => end(viewer, ...CLOSINGS[why]),
    }
    viewers.add(viewer)
    watcher.watch(viewer, viewer.owner)
    // The session was read before the upgrade, so it is read again.
    watcher.recheck(viewer)
    const messages = new TokenBucket(MESSAGES)
    const bytes = new TokenBucket(MESSAGE_BYTES)
    const spend = (length: number): boolean => {
      // Messages read together with the one that closed the socket still arrive.
      if (socket.readyState !== socket.OPEN) return false
      if (messages.take() && bytes.take(length)) return true
      end(viewer, POLICY, 'Too many messages')
      return false
    }
    // Registered at once, because a message that comes before its listener is lost.
    socket.on('message', data => {
      const message = data as Buffer
      if (!spend(message.length)) return
      if (viewer.waiting.length === 0 && scheduler.isFree) read(viewer, message)
      else pause(viewer, message)
    })
    socket.on('ping', data => void spend(data.length))
    socket.on('pong', () => {
      viewer.answered = true
    })
    socket.on('close', () => remove(viewer))
    socket.on('error', error => app.log.info({ err: error }, 'A live socket failed'))
  }

  /** Lets its messages wait for their turn, and stops reading the socket meanwhile. */
  function pause(viewer: Viewer, message: Buffer): void {
    const { socket, waiting, owner } = viewer
    waiting.push(message)
    if (waiting.length > 1) return
    socket.pause()
    scheduler.enter(owner.organizationId, () => {
      const next = waiting[0]
      if (next) read(viewer, next)
      waiting.shift()
      if (waiting.length === 0) socket.resume()
      return waiting.length > 0
    })
  }

  function remove(viewer: Viewer): void {
    viewers.delete(viewer)
    watcher.forget(viewer)
    viewer.waiting.length = 0
    users.forget(viewer.owner.id, viewer.socket)
    filters.forget(viewer.socket)
    clients.unsubscribe(viewer.client)
    watching.forget(viewer.socket)
  }

  /** Closes the socket and sends nothing more, so that its unread bytes do not grow. */
  function end(viewer: Viewer, code: number, reason: string): void {
    remove(viewer)
    viewer.socket.close(code, reason)
  }

  function endUnread(viewer: Viewer): void {
    if (viewer.socket.bufferedAmount > MAX_UNREAD_BYTES) end(viewer, POLICY, 'Too much is left unread')
  }

  function read(viewer: Viewer, data: Buffer): void {
    const { socket, client, owner } = viewer
    const received = readMessage(data)
    const message = typeof received === 'string' ? received : (findRefusal(viewer, received) ?? received)
    if (typeof message === 'string') {
      socket.send(JSON.stringify({ type: 'error', message }))
      endUnread(viewer)
    } else if (message.type === 'subscribe') {
      viewer.subscribed = true
      users.ask(owner.id, socket, () =>
        clients.subscribe(client, message.filter ?? {}, message.since ?? null),
      )
    } else if (message.type === 'watch') {
      const isAsking = viewer.requestedTopics !== undefined
      viewer.requestedTopics = message.topics
      if (!isAsking)
        watch(viewer).catch(error => {
          // Whoever has gone needs no answer.
          if (socket.readyState === socket.OPEN) failed(error)
        })
    } else {
      viewer.subscribed = false
      users.forget(owner.id, socket)
      filters.forget(socket)
      clients.unsubscribe(client)
    }
  }

  /** Why somebody may not subscribe; an earlier subscription stays. */
  function findRefusal(viewer: Viewer, message: ClientMessage): string | undefined {
    if (message.type !== 'subscribe') return undefined
    if (!viewer.seesPositions) return NO_POSITIONS
    const { socket, owner } = viewer
    return filters.take(socket, owner.organizationId, message.filter ?? {}) ? undefined : NO_ROOM
  }

  /** Reads the role, which a socket does not keep, and answers the newest of several requests. */
  async function watch(viewer: Viewer): Promise<void> {
    const { socket, owner } = viewer
    while (viewer.requestedTopics) {
      const asked = viewer.requestedTopics
      const caller = (await findCallers(db.system, [owner.sessionId])).get(owner.sessionId)
      if (!viewers.has(viewer)) return
      if (viewer.requestedTopics !== asked) continue
      viewer.requestedTopics = undefined
      if (!caller) return viewer.end('credential')
      const topics = watching.watch(socket, caller, [...new Set(asked)])
      socket.send(JSON.stringify({ type: 'watching', topics }))
    }
  }

  /** Applies the user's present permissions. Returns whether the socket may stay open with its subscription. */
  function follow(viewer: Viewer, caller: Caller): boolean {
    if (caller.lacksSecondFactor) return false
    viewer.seesPositions = seesPositions(caller)
    if (viewer.subscribed ? !viewer.seesPositions : !hasLiveMessages(caller)) return false
    watching.update(viewer.socket, caller)
    viewer.visibility = visibilityOf(caller)
    if (isSame(viewer.visibility, viewer.client.visibility)) return true
    // A change of the user's visibility may have changed subjects too, so these are read first.
    positions.refresh(caller.organizationId).then(() => {
      if (!isSame(viewer.visibility, viewer.client.visibility))
        clients.changeVisibility(viewer.client, viewer.visibility)
    }, failed)
    return true
  }

  const failed = (error: unknown) =>
    app.log.warn({ err: error }, 'Applying changed permissions to a live socket failed')

  const stopListening = db.onChange(event => {
    if (event.kind === 'record') watching.change(event)
    if (event.kind === 'resync') watching.restart()
  })
  const polls = setInterval(() => {
    const now = performance.now()
    for (const viewer of [...viewers]) {
      const unread = viewer.socket.bufferedAmount > MAX_UNREAD_BYTES
      viewer.unreadSince = unread ? (viewer.unreadSince ?? now) : undefined
      if (now - (viewer.unreadSince ?? now) > UNREAD_WITHIN_MS) endUnread(viewer)
    }
  }, POLL_EVERY_MS)
  const pings = setInterval(() => {
    for (const viewer of viewers) {
      if (!viewer.answered) viewer.socket.terminate()
      viewer.answered = false
      viewer.socket.ping()
    }
  }, PING_EVERY_MS)

  app.addHook('preClose', async () => {
    stopListening()
    watching.close()
    for (const timer of [polls, pings]) clearInterval(timer)
    for (const { socket } of viewers) socket.close(SHUTDOWN, 'The server is stopping')
  })
  return { add }
}

const CLOSINGS: Readonly<Record<Ending, [code: number, reason: string]>> = {
  credential: [TOKEN_ENDED, 'The token is expired or revoked'],
  permission: [PERMISSION_LOST, 'The permission for what it shows is gone'],
}

const NO_POSITIONS =
  'Your role lacks the permission view/location: you may watch what it allows, and not subscribe.'

const NO_ROOM = `The filters of your company’s open sockets may name ${MAX_FILTER_IDS.toLocaleString('en')} identifiers together.`

const isSame = (a: Visibility, b: Visibility) => JSON.stringify(a) === JSON.stringify(b)
