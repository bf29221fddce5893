import { eachMeasured } from '../../../../db/measured.ts'
import type { HistoryPoint } from '../../../../db/queries/point-lines.ts'
import type { FileFormat } from './format.ts'
import { createIso } from './iso.ts'

const LINE_END = '\r\n'

const recorded = createIso()
const received = createIso()

const COLUMNS: { [field: string]: (point: HistoryPoint) => string } = {
  _id: ({ subject, recordedAt }) => `${subject.id}_${recordedAt}`,
  subjectId: ({ subject }) => subject.id,
  subjectType: ({ subject }) => subject.type,
  lat: point => point.lat,
  lng: point => point.lng,
  timestamp: point => recorded.toIso(point.recordedAt),
  receivedAt: point => received.toIso(point.receivedAt),
  ...eachMeasured(name => (point: HistoryPoint) => point[name]),
  attributes: point => point.attributes && `"${point.attributes.replaceAll('"', '""')}"`,
  anomaly: point => point.anomaly,
}

const values = Object.values(COLUMNS)

/**
 * RFC 4180. No spreadsheet takes a cell for a formula: all are identifiers, fixed words, times and numbers, except
 * `attributes`, which begins with a brace.
 */
export const csv: FileFormat = {
  type: 'text/csv; charset=utf-8; header=present',
  extension: 'csv',
  begin: () => Object.keys(COLUMNS).join(',') + LINE_END,
  end: () => '',
  createTrack: () => ({
    begin: () => '',
    add: points => points.map(point => values.map(value => value(point)).join(',') + LINE_END).join(''),
    end: () => [],
  }),
}
