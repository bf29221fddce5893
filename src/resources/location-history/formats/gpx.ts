import type { HistoryPoint } from '../../../../db/queries/point-lines.ts'
import type { FileFormat } from './format.ts'
import { toIso } from './iso.ts'

const BEGIN = `<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="Fieldline" xmlns="http://www.topografix.com/GPX/1/1" xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v2">
`

/**
 * GPX 1.1 with its elements in the schema's order, and a new trkseg after a gap, as the schema demands. Speed and
 * heading are in Garmin's extension, which most programs read.
 */
export const gpx: FileFormat = {
  type: 'application/gpx+xml',
  extension: 'gpx',
  begin: () => BEGIN,
  end: () => '</gpx>\n',
  createTrack({ id, name }, _, { hasGap }) {
    let last: number | undefined
    return {
      begin: () => `<trk><name>${escapeXml(name || id)}</name><src>${id}</src><trkseg>\n`,
      add(points) {
        let text = ''
        for (const point of points) {
          if (last !== undefined && hasGap(last, point.recordedAt)) text += '</trkseg><trkseg>\n'
          last = point.recordedAt
          text += toPoint(point)
        }
        return text
      },
      end: () => ['</trkseg></trk>\n'],
    }
  },
}

function toPoint({ lat, lng, altitude, recordedAt, speed, heading }: HistoryPoint): string {
  // GPX longitudes are below 180.
  const lon = Number(lng) === 180 ? '-180' : toDecimal(lng)
  const elevation = altitude && `<ele>${toDecimal(altitude)}</ele>`
  const extensions = [
    speed && `<gpxtpx:speed>${toDecimal(speed)}</gpxtpx:speed>`,
    heading && `<gpxtpx:course>${toDecimal(heading)}</gpxtpx:course>`,
  ].join('')
  const extension =
    extensions &&
    `<extensions><gpxtpx:TrackPointExtension>${extensions}</gpxtpx:TrackPointExtension></extensions>`
  return `<trkpt lat="${toDecimal(lat)}" lon="${lon}">${elevation}<time>${toIso(recordedAt)}</time>${extension}</trkpt>\n`
}

/** Writes a number without exponent, which xsd:decimal does not have. */
function toDecimal(number: string): string {
  if (!number.includes('e')) return number
  const digits = Number(number).toFixed(20)
  // Beyond 1e21 toFixed writes an exponent again.
  return digits.includes('e') ? BigInt(Number(number)).toString() : digits.replace(/\.?0+$/, '')
}

const ENTITIES: { [character: string]: string } = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** Escapes a text; control characters, which XML 1.0 cannot hold, are left out. */
function escapeXml(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
      .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
      .replaceAll(/[&<>]/g, character => ENTITIES[character] as string)
  )
}
