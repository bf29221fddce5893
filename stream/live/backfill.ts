import { timeOfDay } from '../../db/clock.ts'
import { createVisibilityTest } from '../../db/visibility.ts'
import type { Cursor } from './cursor.ts'
import { type Group, goneFrame, type LiveClient, positionsFrame } from './groups.ts'
import { isNamed, type NamedPosition, toJson } from './position.ts'
import type { LivePositions } from './positions.ts'

/** A state may change this much later than the clock says, because many changes at once are handled in steps. */
const AGED_LATE_MS = 10_000

/** Whether this process has read the log as far as the cursor. */
export const hasRead = ({ watermark }: LivePositions, from: Cursor): boolean =>
  [...from.positions].every(([partition, offset]) => (watermark.get(partition) ?? 0) >= offset)

/** Sends a client that has joined the group its view: the changes since the cursor if it is of this view, or everything. */
export function backfill(
  positions: LivePositions,
  group: Group,
  client: LiveClient,
  from: Cursor | null,
): void {
  const cursor = group.cursor()
  if (!from || from.view !== group.digest()) {
    const shown = [...group.shown].filter(isNamed).map(toJson)
    client.send(positionsFrame('snapshot', cursor, shown))
    return
  }
  const now = timeOfDay()
  const [present, absent]: [NamedPosition[], NamedPosition[]] = [[], []]
  for (const position of positions.of(group.organizationId)) {
    const { logPartition, logOffset } = position.fix
    const isChanged =
      logOffset >= (from.positions.get(logPartition) ?? 0) ||
      positions.hasAged(position, from.at - AGED_LATE_MS, now)
    if (isChanged && isNamed(position)) (group.contains(position) ? present : absent).push(position)
  }
  // A subject that the caller may not see must not be named, not even as gone.
  const isVisible = createVisibilityTest(client.visibility)
  const gone = absent.filter(({ info }) => isVisible(info)).map(({ info }) => info.subjectId)
  if (gone.length > 0) client.send(goneFrame(gone))
  client.send(positionsFrame('positions', cursor, present.map(toJson)))
}
