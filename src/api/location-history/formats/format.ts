import type { HistoryPoint, HistorySubject } from '../../../../db/queries/point-lines.ts'

/** A file of tracks, written piece by piece: its beginning, one track after the other, its end. */
export interface FileFormat {
  /** The media type. */
  type: string
  extension: string
  begin(): string
  /** What writes the track of one subject, the `index`th of the file. It has a point at least. */
  createTrack(subject: HistorySubject, index: number): TrackWriter
  end(): string
}

export interface TrackWriter {
  begin(): string
  add(points: readonly HistoryPoint[]): string
  end(): Iterable<string>
}
