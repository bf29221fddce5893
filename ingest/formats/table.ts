import type { Format } from './format.ts'
import { native } from './native.ts'
import { osmand } from './osmand.ts'
import { overland } from './overland.ts'
import { owntracks } from './owntracks.ts'

/** Every format by its name, which is the last part of its path over HTTP. */
export const FORMATS = {
  native,
  owntracks,
  overland,
  osmand,
} satisfies Record<string, Format>

const formats: readonly Format[] = Object.values(FORMATS)

/** The format of a publisher's messages to a topic, or null if it may not publish there. */
export function formatOf(topic: string, publisher: { kind: 'device' | 'user'; id: string }): Format | null {
  for (const format of formats) if (format.isTopic?.(topic, publisher)) return format
  return null
}
