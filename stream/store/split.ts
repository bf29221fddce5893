import { eachMeasured } from '../../db/measured.ts'
import type { PointColumns } from '../../db/queries/points.ts'
import type { Batch } from '../log.ts'
import type { Entry, Point, Rejection } from '../point.ts'

/** An entry with its place in the log: the offset of its record, and its ordinal within the record. */
export interface Numbered<E extends Entry = Entry> {
  entry: E
  offset: number
  ordinal: number
}

/** Splits a batch into its points, sorted by subject and time, and its rejections. */
export function splitBatch({ records }: Batch): {
  points: Numbered<Point>[]
  rejections: Numbered<Rejection>[]
} {
  const numbered = records.flatMap(({ offset, entries }) =>
    entries.map((entry, ordinal): Numbered => ({ entry, offset, ordinal })),
  )
  return {
    points: numbered.filter(isPoint).sort(bySubjectAndTime),
    rejections: numbered.filter(isRejection),
  }
}

const isPoint = (item: Numbered): item is Numbered<Point> => item.entry.kind === 'point'
const isRejection = (item: Numbered): item is Numbered<Rejection> => item.entry.kind === 'rejection'

/** The sort is stable, so of two points with one identity the earlier one stays first. */
function bySubjectAndTime(a: Numbered<Point>, b: Numbered<Point>): number {
  return a.entry.subject - b.entry.subject || a.entry.recordedAt - b.entry.recordedAt
}

export const entriesOf = (points: readonly Numbered<Point>[]): Point[] => points.map(({ entry }) => entry)

export function toColumns(points: readonly Point[]): PointColumns {
  return {
    subject: points.map(point => point.subject),
    recordedAt: points.map(point => point.recordedAt),
    receivedAt: points.map(point => point.receivedAt),
    lat: points.map(point => point.lat),
    lng: points.map(point => point.lng),
    ...eachMeasured(name => points.map(point => point[name])),
    attributes: points.map(point => point.attributes),
  }
}
