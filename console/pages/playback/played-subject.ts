import type { Subject } from './address.ts'
import type { Trips } from './track-queries.ts'
import type { Track } from './tracks.ts'

/** One subject of the playback with its data. */
export interface PlayedSubject {
  key: string
  subject: Subject
  name: string
  /** The index of its colour. */
  color: number
  track: Track
  trips: Trips | undefined
}
