import type { Queryable } from '../../../db/client.ts'
import { listExportLogsById } from '../../../db/queries/export-logs.ts'
import { listImportsById } from '../../../db/queries/imports.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import type { Permission } from '../../http/permissions.ts'
import { visibleOf } from '../exports/visible.ts'
import { showImport } from '../imports/present.ts'

/** What may be watched (contract 7.5). */
export const TOPIC_NAMES = ['tasks', 'imports', 'exports', 'geofences'] as const
export type TopicName = (typeof TOPIC_NAMES)[number]

/** A kind of record that is sent when it changes. Whoever changes one says so: `notify(tx, { kind: 'record', topic, … })`. */
interface Topic {
  /** Of which a caller needs one to be told anything of it. */
  permissions: readonly Permission[]
  /** The records with these identifiers: the message about each for a caller, or null where it may not see it. */
  read(tx: Queryable, ids: readonly string[]): Promise<Map<string, (caller: Caller) => object | null>>
}

export const TOPICS: { [name in TopicName]?: Topic } = {
  imports: {
    permissions: ['import/data'],
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
    permissions: ['export/data', 'export/task'],
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
}
