import type { Database } from '../../../db/client.ts'
import type { DataStep, StepPage, TextOf } from '../../../db/queries/data-in-steps.ts'
import type { ExportFormat, ExportLog, ExportResource } from '../../../db/queries/export-logs.ts'
import type { Standing } from '../../../db/queries/sessions.ts'
import type { Column } from '../../sheets/column.ts'

/** What one caller may export of a resource, and asked for. */
export interface Source {
  /** Of the file and its sheet. */
  name: string
  columns: readonly Column[]
  /** What decides who may be shown a file of this format: the keys of the fields in it, say. */
  keys(format: ExportFormat): readonly string[]
  /** In which times are shown, where a format knows no zones. */
  timeZone: string
  /** Whether only some of what is looked at is exported. */
  isFiltered: boolean
  /** The identifiers of all of it, or null where there are more than `limit`. */
  findFew(limit: number): Promise<string[] | null>
  /** How many there are to look at. */
  count(signal: AbortSignal): Promise<number>
  /** A part of it, as a text of JSON: objects, or arrays with a value for each column. */
  read(as: TextOf, page: StepPage): Promise<DataStep>
}

/** Who exports, and what it may do. */
export type Exporter = Pick<Standing, 'permissionDetails' | 'hubIds' | 'teamIds'> & {
  organizationId: string
  userId: string
}

/** A kind of resource that can be exported. Each throws a RequestError where that may not or cannot be. */
export interface Exportable {
  open(db: Database, who: Exporter, asked: Asked): Promise<Source>
  /** Whether somebody may be shown a file with these keys, of an export by itself or, as Owner or Admin, anybody. */
  checkFile(db: Database, who: Exporter, dataTypeId: string | null, keys: readonly string[]): Promise<void>
}

export interface Asked {
  dataTypeId: string | null
  filter: { [key: string]: string }
  fields: string[] | null
  places: ExportLog['places']
}

/** What can be exported. */
export type Exportables = { [resource in ExportResource]: Exportable }

/** Why there is no file, in a sentence for whoever asked for it. */
export class ExportFailure extends Error {}
