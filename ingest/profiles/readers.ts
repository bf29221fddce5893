import type { Choices } from '../../db/schema/tracker-profiles.ts'
import { BUILT_IN } from './built-in/table.ts'
import { compileProfile } from './own/compile.ts'
import type { BuiltInProfile, ProfileReader } from './profile.ts'

/** The built-in profile with this identifier, or null. */
export const findBuiltIn = (id: string): BuiltInProfile | null =>
  Object.hasOwn(BUILT_IN, id) ? BUILT_IN[id as keyof typeof BUILT_IN] : null

/** The reader of a stored profile: a built-in one by its identifier, or the choices of an own one. */
export function profileReader(profile: string | Choices): ProfileReader | null {
  return typeof profile === 'string' ? findBuiltIn(profile) : compileProfile(profile)
}
