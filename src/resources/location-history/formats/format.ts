import type { HistoryPoint, HistorySubject } from '../../../../db/queries/point-lines.ts'

/** A file of tracks, written piece by piece: its beginning, one track after the other, its end. */
export interface FileFormat {
  /** The media type. */
  type: string
  extension: string
  begin(): string
  /** Whether it needs to know beforehand if a line crosses the antimeridian, for which the points are read once more. */
  cutsLines?: true
  /** Creates the writer of one subject's track, the `index`th of the file. A track has at least one point. */
  createTrack(subject: HistorySubject, index: number, outline: Outline): TrackWriter
  end(): string
}

/** Facts about a track that are known before it is written. */
export interface Outline {
  /** Whether the subject was silent for long between two consecutive times. */
  hasGap(from: number, to: number): boolean
  /** Whether a line may cross the antimeridian; false if the format has no `cutsLines`. */
  mayCross: boolean
}

export interface TrackWriter {
  begin(): string
  add(points: readonly HistoryPoint[]): string
  end(): Iterable<string>
}
