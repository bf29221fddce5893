import type { WebSocket } from 'ws'
import type { ChangeEvent, Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import { TokenBucket } from '../../../fair/token-bucket.ts'
import type { LiveClient } from '../../../stream/live/groups.ts'
import type { App, Services } from '../../services.ts'
import { listOpenLinks, type OpenLink } from './open-links.ts'

/** Close codes: our own one, and those of RFC 6455. */
const LINK_ENDED = 4403
const SHUTDOWN = 1001
const POLICY = 1008

/** Sockets of one link in one process: a page and its reloads, in a family or an office. */
const MAX_SOCKETS = 100
/** A frame of one position is 150 bytes. */
const MAX_UNREAD_BYTES = 64 * 1024
/** A client has nothing to send here. The limit tolerates the messages of a client made for the usual live socket. */
const MESSAGES = { capacity: 10, perSecond: 0.1 }

const POLL_EVERY_MS = 250
const PING_EVERY_MS = 25_000
/** Pings are not shown to a page: an empty frame tells it that nothing is new, and not that its connection has died. */
const ALIVE_EVERY_MS = 15_000
const ALIVE = '{"type":"positions","positions":[]}'
/** Notifications may be lost with their connection, so every open link is checked again. */
const CHECK_EVERY_MS = 30_000

interface Tracker {
  socket: WebSocket
  client: LiveClient
  link: OpenLink
  answered: boolean
  /** The positions that it was sent last; empty before its snapshot. */
  sent: string
}

/** Keeps the sockets of tracking links, shows each its subject, and closes those whose link ends. */
export function createTrackers(
  app: App,
  db: Queryable,
  onChange: Services['db']['onChange'],
  { clients }: NonNullable<Services['live']>,
) {
  const trackers = new Set<Tracker>()
  const opened = new Map<string, number>()
  const failed = (error: unknown) => app.log.warn({ err: error }, 'Checking the tracking links failed')

  function end(tracker: Tracker, code: number, reason: string): void {
    trackers.delete(tracker)
    toCheck.delete(tracker)
    clients.unsubscribe(tracker.client)
    tracker.socket.close(code, reason)
  }

  const toCheck = new Set<Tracker>()
  let isChecking = false

  /** Reads the links again. One query runs at a time: a link is in the next one once, however many events name it. */
  function check(which: (link: OpenLink) => boolean): void {
    for (const tracker of trackers) if (which(tracker.link)) toCheck.add(tracker)
    if (!isChecking) void checkAll()
  }

  async function checkAll(): Promise<void> {
    isChecking = true
    while (toCheck.size > 0) await checkSome([...toCheck]).catch(failed)
    isChecking = false
  }

  async function checkSome(checked: Tracker[]): Promise<void> {
    for (const tracker of checked) toCheck.delete(tracker)
    const ids = [...new Set(checked.map(({ link }) => link.id))]
    const open = new Map((await listOpenLinks(db, { ids })).map(link => [link.id, link]))
    for (const tracker of checked) {
      const link = open.get(tracker.link.id)
      if (!link) end(tracker, LINK_ENDED, 'The link has ended')
      else if (trackers.has(tracker)) changeLink(tracker, link)
    }
  }

  function changeLink(tracker: Tracker, link: OpenLink): void {
    const [before, after] = [tracker.link, link].map(({ task }) => JSON.stringify(task?.destination))
    const { name } = link
    if (name !== tracker.link.name) tracker.socket.send(JSON.stringify({ type: 'name', name }))
    tracker.link = link
    if (JSON.stringify(link.visibility) !== JSON.stringify(tracker.client.visibility))
      clients.changeVisibility(tracker.client, link.visibility)
    if (after !== before) tracker.socket.send(`{"type":"destination","destination":${after}}`)
  }

  function follow(event: ChangeEvent): void {
    if (event.kind === 'tracking-link') check(({ id }) => id === event.linkId)
    else if (event.kind === 'record' && event.topic === 'tasks')
      check(({ task }) => task?.id === event.recordId)
    else if (event.kind === 'user') check(({ userId }) => userId === event.userId)
    else if (event.kind === 'resync') check(() => true)
    else if (event.kind === 'organization' || event.kind === 'visibility')
      check(({ organizationId }) => organizationId === event.organizationId)
  }

  const stopListening = onChange(follow)
  const checks = setInterval(() => check(() => true), CHECK_EVERY_MS)
  const polls = setInterval(() => {
    for (const tracker of [...trackers]) {
      if (tracker.link.expiresAt.getTime() <= timeOfDay()) end(tracker, LINK_ENDED, 'The link has expired')
      else if (tracker.socket.bufferedAmount > MAX_UNREAD_BYTES)
        end(tracker, POLICY, 'Too much is left unread')
    }
  }, POLL_EVERY_MS)
  const pings = setInterval(() => {
    for (const tracker of trackers) {
      if (!tracker.answered) tracker.socket.terminate()
      tracker.answered = false
      tracker.socket.ping()
    }
  }, PING_EVERY_MS)

  const beats = setInterval(() => {
    // A snapshot comes first.
    for (const { socket, sent } of trackers) if (sent !== '') socket.send(ALIVE)
  }, ALIVE_EVERY_MS)

  app.addHook('preClose', async () => {
    stopListening()
    for (const timer of [checks, polls, pings, beats]) clearInterval(timer)
    for (const { socket } of trackers) socket.close(SHUTDOWN, 'The server is stopping')
  })

  return {
    /** Counts a socket that is about to be opened. Null where the link has as many as it may; else how to leave. */
    enter(linkId: string): (() => void) | null {
      const count = opened.get(linkId) ?? 0
      if (count >= MAX_SOCKETS) return null
      opened.set(linkId, count + 1)
      return () => {
        const left = (opened.get(linkId) ?? 1) - 1
        if (left > 0) opened.set(linkId, left)
        else opened.delete(linkId)
      }
    },

    add(socket: WebSocket, link: OpenLink): void {
      const client: LiveClient = {
        send(text) {
          const frame = toPublic(text)
          // The change is one that is not shown here, such as a state that changes by time alone.
          if (!frame || frame.positions === tracker.sent) return
          tracker.sent = frame.positions
          const { trailMinutes, task } = tracker.link
          const destination = task ? `,"destination":${JSON.stringify(task.destination)}` : ''
          const about = frame.type === 'snapshot' ? `,"trailMinutes":${trailMinutes}${destination}` : ''
          socket.send(`{"type":"${frame.type}","positions":${frame.positions}${about}}`)
        },
        get waitingBytes() {
          return socket.bufferedAmount
        },
        visibility: link.visibility,
      }
      const tracker: Tracker = { socket, client, link, answered: true, sent: '' }
      trackers.add(tracker)
      const messages = new TokenBucket(MESSAGES)
      socket.on('message', () => {
        if (!messages.take()) end(tracker, POLICY, 'Too many messages')
      })
      socket.on('pong', () => {
        tracker.answered = true
      })
      socket.on('close', () => {
        trackers.delete(tracker)
        clients.unsubscribe(client)
      })
      socket.on('error', error => app.log.info({ err: error }, 'A tracking socket failed'))
      clients.subscribe(client, { subjectIds: [link.subjectId] }, null)
      // The link may have ended between the request and this line, which no event reported.
      check(({ id }) => id === link.id)
    },
  }
}

/** The public part of a frame: the subject's places, without identifier, battery and cursor. */
function toPublic(text: string): { type: string; positions: string } | null {
  const frame = JSON.parse(text) as { type: string; positions?: { [field: string]: unknown }[] }
  if (!frame.positions) return null
  const positions = frame.positions.map(({ lat, lng, timestamp, speed, heading }) => ({
    lat,
    lng,
    timestamp,
    speed,
    heading,
  }))
  return { type: frame.type, positions: JSON.stringify(positions) }
}
