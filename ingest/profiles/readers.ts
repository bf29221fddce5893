import type { Choices } from '../../db/schema/tracker-profiles.ts'
import type { BuiltInProfile, ProfileReader } from './profile.ts'

/** The built-in profiles by their identifier. */
export const BUILT_IN: Readonly<Record<string, BuiltInProfile>> = {}

/** A profile as it is stored with a device or connection: a built-in one by its name, or one of the organization. */
export type StoredProfile = { builtIn: string } | { id: string; choices: Choices }

/** The reader of a profile; null for a built-in one that this version does not have. */
export function profileReader(profile: StoredProfile): ProfileReader | null {
  if ('builtIn' in profile) return BUILT_IN[profile.builtIn] ?? null
  throw new Error('not yet')
}
