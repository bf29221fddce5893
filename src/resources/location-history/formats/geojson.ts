import type { HistoryPoint } from '../../../../db/queries/point-lines.ts'
import type { FileFormat, TrackWriter } from './format.ts'
import { toIso } from './iso.ts'
import { createTimes } from './times.ts'

/** 5,000 times. */
const PIECE_CHARACTERS = 128 * 1024

type Position = Pick<HistoryPoint, 'lat' | 'lng' | 'altitude' | 'recordedAt'>

/**
 * RFC 7946: a FeatureCollection with a LineString for each subject, and the time of each position in
 * `properties.coordTimes`. A line that may cross the antimeridian is a MultiLineString, cut there (3.1.9), and its
 * times are one list for each line. The coordinates are sent before all times are known, so the times are kept.
 */
export const geojson: FileFormat = {
  type: 'application/geo+json',
  extension: 'geojson',
  begin: () => '{"type":"FeatureCollection","features":[',
  end: () => ']}',
  cutsLines: true,
  createTrack({ id, type, name }, index, { mayCross }): TrackWriter {
    const times = createTimes()
    /** The number of positions of each line. */
    const lengths = [0]
    let last: Position | undefined
    const [open, close] = mayCross ? ['[', ']'] : ['', '']

    function put(position: Position): string {
      const before = lengths.pop() as number
      lengths.push(before + 1)
      times.add(position.recordedAt)
      last = position
      return (before > 0 ? ',' : '') + toPosition(position)
    }
    /** A line has at least two positions. */
    const finishLine = () => (last && lengths.at(-1) === 1 ? put(last) : '')

    return {
      begin() {
        const geometry = mayCross ? 'MultiLineString' : 'LineString'
        return `${index > 0 ? ',' : ''}{"type":"Feature","geometry":{"type":"${geometry}","coordinates":[${open}`
      },
      add(points) {
        let text = ''
        for (const point of points) {
          const crossing = mayCross && last && findCrossing(last, point)
          if (crossing) {
            if (crossing.before) text += put(crossing.before)
            text += `${finishLine()}],[`
            lengths.push(0)
            if (crossing.after) text += put(crossing.after)
          }
          text += put(point)
        }
        return text
      },
      *end() {
        const properties = JSON.stringify({ subjectId: id, subjectType: type, name })
        yield `${finishLine()}${close}]},"properties":${properties.slice(0, -1)},"coordTimes":[${open}`
        let piece = ''
        let comma = ''
        let line = 0
        let left = lengths[0] as number
        for (const time of times.all()) {
          if (left === 0) {
            left = lengths[++line] as number
            piece += '],['
            comma = ''
          }
          left--
          piece += `${comma}"${toIso(time)}"`
          comma = ','
          if (piece.length < PIECE_CHARACTERS) continue
          yield piece
          piece = ''
        }
        yield `${piece}${close}]}}`
      },
    }
  },
}

/**
 * The place where the shorter way between two positions crosses the antimeridian, once with the longitude of each side;
 * null if it does not. A position on the antimeridian needs no further one there.
 */
function findCrossing(from: Position, to: Position) {
  const [begin, end] = [Number(from.lng), Number(to.lng)]
  if (Math.abs(end - begin) <= 180) return null
  const side = begin > 0 ? 180 : -180
  const degrees = 360 - Math.abs(end - begin)
  const share = degrees === 0 ? 0 : Math.abs(side - begin) / degrees
  const between = (one: number, other: number) => one + (other - one) * share
  const at = (lng: number): Position => ({
    lng: String(lng),
    lat: String(between(Number(from.lat), Number(to.lat))),
    altitude: from.altitude && to.altitude && String(between(Number(from.altitude), Number(to.altitude))),
    recordedAt: Math.round(between(from.recordedAt, to.recordedAt)),
  })
  return { before: share > 0 ? at(side) : null, after: share < 1 ? at(-side) : null }
}

const toPosition = ({ lat, lng, altitude }: Position) =>
  altitude ? `[${lng},${lat},${altitude}]` : `[${lng},${lat}]`
