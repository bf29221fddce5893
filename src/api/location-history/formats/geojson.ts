import type { HistoryPoint } from '../../../../db/queries/point-lines.ts'
import type { FileFormat, TrackWriter } from './format.ts'
import { toIso } from './iso.ts'
import { createTimes } from './times.ts'

/** 5,000 times. */
const PIECE_CHARACTERS = 128 * 1024

/**
 * RFC 7946: a FeatureCollection with a LineString a subject, and in `properties.coordTimes` when it was at each of its
 * positions. The coordinates are on their way before the times are known all, so the times are kept.
 */
export const geojson: FileFormat = {
  type: 'application/geo+json',
  extension: 'geojson',
  begin: () => '{"type":"FeatureCollection","features":[',
  end: () => ']}',
  createTrack({ id, type, name }, index): TrackWriter {
    const times = createTimes()
    let first: HistoryPoint | undefined
    return {
      begin: () => `${index > 0 ? ',' : ''}{"type":"Feature","geometry":{"type":"LineString","coordinates":[`,
      add(points) {
        const comma = first ? ',' : ''
        first ??= points[0]
        for (const { recordedAt } of points) times.add(recordedAt)
        return comma + points.map(toPosition).join(',')
      },
      *end() {
        let repeated = ''
        if (first && times.count === 1) {
          // A LineString has two positions at least.
          times.add(first.recordedAt)
          repeated = `,${toPosition(first)}`
        }
        const properties = JSON.stringify({ subjectId: id, subjectType: type, name })
        yield `${repeated}]},"properties":${properties.slice(0, -1)},"coordTimes":[`
        let piece = ''
        let comma = ''
        for (const time of times.all()) {
          piece += `${comma}"${toIso(time)}"`
          comma = ','
          if (piece.length < PIECE_CHARACTERS) continue
          yield piece
          piece = ''
        }
        yield `${piece}]}}`
      },
    }
  },
}

const toPosition = ({ lat, lng, altitude }: HistoryPoint) =>
  altitude ? `[${lng},${lat},${altitude}]` : `[${lng},${lat}]`
