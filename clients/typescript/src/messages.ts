/** Degrees, metres, metres per second, per cent. */
export interface LivePosition {
  subjectId: string
  subjectType: 'user' | 'device'
  name: string
  lat: number
  lng: number
  timestamp: string
  speed: number | null
  heading: number | null
  accuracy: number | null
  battery: number | null
  state: 'moving' | 'idle' | 'offline'
}

export type Topic = 'tasks' | 'imports' | 'exports' | 'geofences' | 'commands'

export type LiveMessage =
  /** A snapshot replaces all that the reader holds. */
  | { type: 'snapshot' | 'positions'; cursor: string; positions: LivePosition[] }
  /** They left the filter, or the sight of the token. */
  | { type: 'gone'; subjectIds: string[] }
  /** The topics are watched from now on. It comes again after a lost connection: read over HTTP what changed meanwhile. */
  | { type: 'watching'; topics: Topic[] }
  | { type: 'task'; task: { _id: string; [key: string]: unknown }; deleted?: true }
  | { type: 'import'; import: { _id: string; [key: string]: unknown } }
  | { type: 'export'; export: { _id: string; [key: string]: unknown } }
  | { type: 'geofence'; events: { _id: string; [key: string]: unknown }[] }
  | { type: 'command'; command: { _id: string; [key: string]: unknown }; deleted?: true }
