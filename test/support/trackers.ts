import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Choices } from '../../db/schema/tracker-profiles.ts'
import type { TrackerMessage } from '../../ingest/profiles/profile.ts'

const FOLDER = resolve(import.meta.dirname, '../data')

export interface ExpectedPosition {
  device: string
  /** Null: the time of receipt. */
  ts: string | null
  lat: number
  lng: number
  speed_mps: number | null
  heading: number | null
  altitude_m: number | null
  accuracy_m: number | null
  battery_pct: number | null
}

/** A recorded message of a tracker. */
export interface TrackerPayload {
  file: string
  family: string
  /** The built-in profile that reads it; null if only an own one does. */
  profile: string | null
  message: TrackerMessage
  expect: ExpectedPosition[]
  why: string | undefined
}

interface Entry extends Omit<TrackerPayload, 'message'> {
  transport: 'mqtt' | 'http'
  topic?: string
  path?: string
  clientId?: string
  username?: string
}

/** The manifest has remarks behind some topics, and one for a topic that nobody knows. */
const topicOf = (topic: string) => (topic.startsWith('(') ? 'trackers' : (topic.split(' ')[0] as string))

const readJson = (path: string) => JSON.parse(readFileSync(resolve(FOLDER, path), 'utf8'))

/** All recorded messages of trackers, with the positions in them. */
export function readTrackerPayloads(): TrackerPayload[] {
  const manifest: Entry[] = readJson('payloads/trackers/manifest.json')
  return manifest.map(
    ({ file, family, profile, expect, why, transport, topic = '', path, clientId, username }) => {
      const bytes = readFileSync(resolve(FOLDER, 'payloads', file))
      // A request without a body has everything in its address.
      const isAddress = file.endsWith('url.txt')
      const query = isAddress ? bytes.toString('utf8').trim() : (path ?? '')
      return {
        file,
        family,
        profile,
        expect,
        why,
        message: {
          payload: isAddress ? Buffer.alloc(0) : bytes,
          topic: transport === 'mqtt' ? topicOf(topic) : null,
          clientId: clientId ?? null,
          username: username ?? null,
          query:
            transport === 'http'
              ? Object.fromEntries(
                  new URLSearchParams(query.includes('?') ? query.replace(/^.*?\?/, '') : ''),
                )
              : null,
        },
      }
    },
  )
}

/** Own profiles for the families that no built-in profile reads. */
export const readOwnProfiles = (): { [family: string]: Choices } => readJson('profiles/own.json')
