import { exportableData } from '../data/export.ts'
import { exportableTasks } from '../tasks/export.ts'
import type { Exportables } from './source.ts'

/** The resources that can be exported. */
export const EXPORTABLES: Exportables = { data: exportableData, tasks: exportableTasks }
