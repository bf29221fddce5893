import type { Database } from '../../../db/client.ts'
import type { DataStep, StepPage, TextOf } from '../../../db/queries/data-in-steps.ts'
import type { ExportFormat, ExportLog, ExportResource } from '../../../db/queries/export-logs.ts'
import type { Standing } from '../../../db/queries/sessions.ts'
import type { Column } from '../../sheets/column.ts'

/** The part of a resource that a caller requested and may export. */
export interface Source {
  /** The name of the file and its sheet. */
  name: string
  columns: readonly Column[]
  /** All keys that decide who may see a file of this format, for example the keys of its fields. */
  keys(format: ExportFormat): readonly string[]
  /** The time zone in which times are shown if the format has no zones. */
  timeZone: string
  /** Whether a filter leaves out some of the records that are read. */
  isFiltered: boolean
  /** The identifiers of all records, or null if there are more than `limit`. */
  findFew(limit: number): Promise<string[] | null>
  /** The number of records to read. */
  count(signal: AbortSignal): Promise<number>
  /** Reads one step as JSON text: objects, or arrays with a value for each column. */
  read(as: TextOf, page: StepPage): Promise<DataStep>
}

/** The exporting user and its permissions. */
export type Exporter = Pick<Standing, 'permissionDetails' | 'hubIds' | 'teamIds'> & {
  organizationId: string
  userId: string
}

/** A resource that can be exported. Each method throws a RequestError if the export is not allowed or not possible. */
export interface Exportable {
  open(db: Database, who: Exporter, asked: Asked): Promise<Source>
  /** Throws unless the caller may see a file with these keys, from its own export or, as Owner or Admin, from anybody's. */
  checkFile(db: Database, who: Exporter, dataTypeId: string | null, keys: readonly string[]): Promise<void>
}

export interface Asked {
  dataTypeId: string | null
  filter: { [key: string]: string }
  fields: string[] | null
  places: ExportLog['places']
}

/** The resources that can be exported. */
export type Exportables = { [resource in ExportResource]: Exportable }

/** Why there is no file, in a sentence for the user who ordered it. */
export class ExportFailure extends Error {}
