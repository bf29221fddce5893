import type { Subject } from './address.ts'
import type { Trips } from './track-queries.ts'
import type { Track } from './tracks.ts'

/** One of those that are played back, with what is known of it. */
export interface PlayedSubject {
  key: string
  subject: Subject
  name: string
  /** Which of the colours of tracks. */
  color: number
  track: Track
  trips: Trips | undefined
}
