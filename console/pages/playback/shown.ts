import type { Subject } from './choice.ts'
import type { Trips } from './queries.ts'
import type { Track } from './tracks.ts'

/** One of those that are played back, with what is known of it. */
export interface Shown {
  key: string
  subject: Subject
  name: string
  /** Which of the colours of tracks. */
  color: number
  track: Track
  trips: Trips | undefined
}
