import type { HistoryPoint, HistorySubject } from '../../../../db/queries/point-lines.ts'

/** A file of tracks, written piece by piece: its beginning, one track after the other, its end. */
export interface FileFormat {
  /** The media type. */
  type: string
  extension: string
  begin(): string
  /** Whether it has to know beforehand if a line crosses the antimeridian, which takes another look at the points. */
  cutsLines?: true
  /** What writes the track of one subject, the `index`th of the file. It has a point at least. */
  createTrack(subject: HistorySubject, index: number, outline: Outline): TrackWriter
  end(): string
}

/** What is known of a track before it is written. */
export interface Outline {
  /** Whether the subject was silent for long between the times of two neighbours. */
  hasGap(from: number, to: number): boolean
  /** Whether a line may cross the antimeridian; false where the format does not ask. */
  mayCross: boolean
}

export interface TrackWriter {
  begin(): string
  add(points: readonly HistoryPoint[]): string
  end(): Iterable<string>
}
