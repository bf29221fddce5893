import { timeOfDay } from '../../db/clock.ts'
import type { Visibility } from '../../db/visibility.ts'
import { digestView, writeCursor } from './cursor.ts'
import { isNamed, type NamedPosition, type Position, toJson } from './position.ts'
import type { LivePositions } from './positions.ts'
import { createView, type Filter } from './view.ts'

export interface LiveClient {
  send(text: string): void
  /** Bytes that wait to be sent to the client. */
  readonly waitingBytes: number
  visibility: Visibility
}

/** Clients with the same view, and the positions that they show. They share one serialized frame. */
export interface Group {
  readonly key: string
  readonly organizationId: string
  readonly filter: Filter
  /** Whether the view contains a position. */
  contains(position: Position): position is NamedPosition
  /** The view's digest for cursors; it changes with the visibility version. */
  digest(): string
  /** A cursor that promises every change until now. */
  cursor(): string
  readonly shown: Set<Position>
  /** Each client, and the positions that it missed while it read too slowly. */
  readonly clients: Map<LiveClient, { missed: Set<Position> | undefined }>
}

/** A group for a view, without clients. It shows the positions that the view contains now. */
export function createGroup(
  key: string,
  visibility: Visibility,
  filter: Filter,
  positions: LivePositions,
): Group {
  const { organizationId } = visibility
  const matches = createView(visibility, filter)
  const contains = (position: Position): position is NamedPosition =>
    isNamed(position) && matches(position.info, position.fix)
  const digest = createDigest(positions, visibility, filter)
  const shown = new Set<Position>()
  for (const position of positions.of(organizationId)) if (contains(position)) shown.add(position)
  return {
    ...{ key, organizationId, filter, contains, digest, shown },
    cursor: () => writeCursor({ positions: positions.watermark, view: digest(), at: timeOfDay() }),
    clients: new Map(),
  }
}

/**
 * Remembers the digest, which changes only with the visibility version: hashing thousands of views four times a second
 * is slow.
 */
function createDigest(positions: LivePositions, visibility: Visibility, filter: Filter): () => string {
  let version = Number.NaN
  let digest = ''
  return () => {
    const current = positions.visibilityVersion(visibility.organizationId)
    if (current !== version) {
      version = current
      digest = digestView([version, visibility, filter])
    }
    return digest
  }
}

/** Takes the changed positions that the group showed before or shows now. */
export function takeRelevant(group: Group, changed: Iterable<Position>): Position[] {
  const relevant: Position[] = []
  for (const position of changed) {
    const was = group.shown.has(position)
    const is = group.contains(position)
    if (is) group.shown.add(position)
    else group.shown.delete(position)
    if (was || is) relevant.push(position)
  }
  return relevant
}

/** Sends positions that are in the view, and names the others as gone. */
export function sendChange(group: Group, clients: Iterable<LiveClient>, changes: Iterable<Position>): void {
  const present: string[] = []
  const gone: string[] = []
  for (const position of changes) {
    if (group.contains(position)) present.push(toJson(position))
    else if (position.info) gone.push(position.info.subjectId)
  }
  const frames = gone.length > 0 ? [goneFrame(gone)] : []
  if (present.length > 0) frames.push(positionsFrame('positions', group.cursor(), present))
  for (const client of clients) for (const frame of frames) client.send(frame)
}

export const goneFrame = (subjectIds: readonly string[]): string =>
  JSON.stringify({ type: 'gone', subjectIds })

export const positionsFrame = (
  type: 'snapshot' | 'positions',
  cursor: string,
  positions: readonly string[],
): string => `{"type":"${type}","cursor":"${cursor}","positions":[${positions.join(',')}]}`
