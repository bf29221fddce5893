import type { Queryable } from '../../../db/client.ts'
import { isInVisibleHub } from '../../../db/hub-rule.ts'
import { listCommandsById } from '../../../db/queries/commands.ts'
import { listExportLogsById } from '../../../db/queries/export-logs.ts'
import { listGeofenceEventsById } from '../../../db/queries/geofence-events.ts'
import { listImportsById } from '../../../db/queries/imports.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { listTasksById } from '../../../db/queries/tasks.ts'
import { createVisibilityTest } from '../../../db/visibility.ts'
import { type Permission, scopeOf, visibilityOf } from '../../http/permissions.ts'
import { presentCommandChange } from '../commands/present.ts'
import { visibleOf } from '../exports/visible.ts'
import { showImport } from '../imports/present.ts'
import { presentTaskChange, readTypes } from '../tasks/present.ts'

/** The topics that can be watched (contract 7.5). */
export const TOPIC_NAMES = ['tasks', 'imports', 'exports', 'geofences', 'commands'] as const
export type TopicName = (typeof TOPIC_NAMES)[number]

/** Returns the message about a record for a caller, or null for no message; `before` comes from the notifications. */
type Present = (caller: Caller, before: readonly string[]) => object | null

/** A kind of record that is sent when it changes. Every change sends `notify(tx, { kind: 'record', topic, … })`. */
interface Topic {
  /** Whether the topic has messages for a caller with these permissions. */
  isFor(may: (permission: Permission) => boolean): boolean
  /** The messages about the records with these identifiers. */
  read(tx: Queryable, ids: readonly string[], organizationId: string): Promise<Map<string, Present>>
}

/** Whether a caller may watch records of a topic. */
export const mayWatch = ({ permissionDetails }: Caller, name: TopicName): boolean =>
  TOPICS[name].isFor(permission => scopeOf(permissionDetails, permission) !== null)

/** Whether a caller's role may see positions. */
export const seesPositions = ({ permissionDetails }: Caller): boolean =>
  scopeOf(permissionDetails, 'view/location') !== null

/** Whether the live socket has any messages for a caller. */
export const hasLiveMessages = (caller: Caller): boolean =>
  seesPositions(caller) || TOPIC_NAMES.some(name => mayWatch(caller, name))

export const TOPICS: { [name in TopicName]: Topic } = {
  tasks: {
    isFor: may => may('view/task'),
    async read(tx, ids, organizationId) {
      const found = await listTasksById(tx, ids)
      const types = await readTypes(tx, organizationId, found)
      const tasks = new Map(found.map(task => [task._id, task]))
      return new Map(
        ids.map(id => [id, (caller, before) => presentTaskChange(caller, id, tasks.get(id), before, types)]),
      )
    },
  },
  imports: {
    isFor: may => may('import/data'),
    async read(tx, ids) {
      const found = await listImportsById(tx, ids)
      return new Map(
        found.map(row => [
          row._id,
          caller => {
            const shown = showImport(row, caller)
            return shown && { type: 'import', import: shown }
          },
        ]),
      )
    },
  },
  exports: {
    isFor: may => may('export/data') || may('export/task'),
    async read(tx, ids) {
      const found = await listExportLogsById(tx, ids)
      return new Map(
        found.map(({ madeBy, ...log }) => [
          log._id,
          caller => {
            const of = visibleOf(caller)
            return of === null || of === madeBy ? { type: 'export', export: log } : null
          },
        ]),
      )
    },
  },
  geofences: {
    // The same permissions as for GET /geofence-events.
    isFor: may => may('view/geofence') && may('view/location'),
    async read(tx, ids) {
      const found = await listGeofenceEventsById(tx, ids)
      return new Map(
        found.map(({ event, fenceHubId, subject }) => [
          event._id,
          caller => {
            if (!isInVisibleHub(fenceHubId, caller.hubIds)) return null
            const isSeen = createVisibilityTest(visibilityOf(caller))(subject)
            return isSeen ? { type: 'geofence', events: [event] } : null
          },
        ]),
      )
    },
  },
  commands: {
    isFor: may => may('view/command'),
    async read(tx, ids) {
      const found = new Map((await listCommandsById(tx, ids)).map(one => [one.command._id, one]))
      return new Map(
        ids.map(id => [id, (caller, before) => presentCommandChange(caller, id, found.get(id), before)]),
      )
    },
  },
}
