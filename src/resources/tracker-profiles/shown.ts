import type { TrackerProfile } from '../../../db/queries/tracker-profiles.ts'
import { BUILT_IN } from '../../../ingest/profiles/built-in/table.ts'
import { findBuiltIn } from '../../../ingest/profiles/readers.ts'

/** The built-in profiles as the list sorts and searches them. */
export const listBuiltIn = () => Object.entries(BUILT_IN).map(([_id, { name }]) => ({ _id, name }))

/** A built-in profile as the interface shows it, or null. It has no choices. */
export function showBuiltIn(id: string) {
  const profile = findBuiltIn(id)
  return (
    profile && {
      _id: id,
      name: profile.name,
      isBuiltIn: true,
      topic: profile.topic,
      each: null,
      when: [],
      device: null,
      fields: null,
      attributes: {},
      sampleMessages: [],
      createdAt: null,
      updatedAt: null,
    }
  )
}

/** A profile of the organization as the interface shows it. */
export const showOwn = ({ choices, ...profile }: TrackerProfile) => ({
  ...profile,
  ...choices,
  isBuiltIn: false,
})
