import type { Exportables } from '../../jobs/exports/source.ts'
import { exportableData } from '../data/export.ts'

/** What can be exported. */
export const EXPORTABLES: Exportables = { data: exportableData }
