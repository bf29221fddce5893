import type { Exportables } from '../../jobs/exports/source.ts'
import { exportableData } from '../data/export.ts'
import { exportableTasks } from '../tasks/export.ts'

/** What can be exported. */
export const EXPORTABLES: Exportables = { data: exportableData, tasks: exportableTasks }
