import type { Choices } from '../../../db/schema/tracker-profiles.ts'
import { isFields, NoPoint } from '../../formats/format.ts'
import { matches } from '../../mqtt/topics.ts'
import { BUILT_IN } from '../built-in/table.ts'
import { readNumber } from '../numbers.ts'
import { readPayload } from '../payload.ts'
import type { BuiltInProfile, TrackerMessage } from '../profile.ts'
import { readMessage } from '../read-message.ts'
import { draftProfile } from './draft.ts'

export interface Suggestion {
  profileId: string | null
  profile: Choices | null
  /** Sentences. */
  because: string[]
}

/** The built-in profile that reads the messages, or else a draft. Each step reads one of them. */
export function* suggestProfile(
  messages: readonly TrackerMessage[],
  receivedAt: number,
): Generator<void, Suggestion> {
  let best: { id: string; name: string; count: number } | null = null
  for (const [id, profile] of Object.entries<BuiltInProfile>(BUILT_IN)) {
    let count = 0
    for (const message of messages) {
      const positions = countPositions(id, profile, message, receivedAt)
      yield
      if (positions === null) {
        count = 0
        break
      }
      if (positions > 0) count++
    }
    if (count > (best?.count ?? 0)) best = { id, name: profile.name, count }
  }
  if (best) {
    const because = `${best.name} reads ${best.count} of ${messages.length} messages as positions, and no other is wrong.`
    return { profileId: best.id, profile: null, because: [because] }
  }
  const draft = yield* draftProfile(messages)
  return draft
    ? { profileId: null, profile: draft.choices, because: draft.because }
    : { profileId: null, profile: null, because: ['No value is a latitude and a longitude by its name.'] }
}

/** The number of positions that a profile reads in a message; null if the message is not one of its family. */
function countPositions(
  id: string,
  profile: BuiltInProfile,
  message: TrackerMessage,
  receivedAt: number,
): number | null {
  if (message.topic !== null && !matches(profile.topic, message.topic)) return null
  if (!(SIGNS[id]?.(message) ?? true)) return null
  const { positions, unreadable } = readMessage(profile, message, receivedAt)
  if (unreadable) return null
  const fixes = positions.map(({ fix }) => fix)
  if (fixes.some(fix => fix instanceof NoPoint || readNumber(fix.lat) === null)) return null
  return fixes.length
}

const CALLBACK = ['computedLocation', 'station', 'seqNumber', 'seqNum', 'avgSnr', 'linkQuality', 'lqi']

/** Whether the payload, or the object in it, has one of these fields. */
const hasAny = (message: TrackerMessage, names: readonly string[], inner?: string) => {
  const read = readPayload(message)
  const whole = read instanceof NoPoint ? null : read.value
  const object = inner === undefined ? whole : isFields(whole) && whole[inner]
  return isFields(object) && names.some(name => Object.hasOwn(object, name))
}

/** The signs of families whose messages could be those of others. */
const SIGNS: { readonly [id: string]: (message: TrackerMessage) => boolean } = {
  'home-assistant': ({ topic }) => topic !== null,
  sigfox: message => hasAny(message, CALLBACK) || hasAny(message, ['radius'], 'location'),
  traccar: message =>
    hasAny(message, ['position']) ||
    message.query?.gprmc !== undefined ||
    message.query?.fixTime !== undefined,
}
