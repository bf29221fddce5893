import { eq, sql } from 'drizzle-orm'
import { newId, notify, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { type Choices, type SampleMessage, trackerProfiles } from '../schema/tracker-profiles.ts'
import { type Page, type PageRequest, readPage, storedBytes } from './page.ts'

/** A profile of the organization. */
export type TrackerProfile = Shown<typeof trackerProfiles>

/** A row of the list, which a built-in profile has as well, without choices. */
export type ListedProfile = Pick<TrackerProfile, '_id' | 'name'> &
  (({ isBuiltIn: false } & TrackerProfile) | { isBuiltIn: true; choices: null; sampleMessages: null })

const COLUMNS = shownColumns(trackerProfiles, 'p')

export const TRACKER_PROFILE_SORTS = {
  name: { sql: 'lower(p.name)', type: 'text' },
  createdAt: { sql: `coalesce(p.created_at, '-infinity')`, type: 'timestamptz' },
} as const

/** The built-in profiles and those of the organization. Pages go by a UUID, which a built-in one has by its place. */
export function listTrackerProfiles(
  tx: Queryable,
  builtIn: readonly { _id: string; name: string }[],
  page: PageRequest,
  /** The built-in ones that are asked for by their identifiers, which are no UUIDs. */
  asked: readonly string[],
): Promise<Page<ListedProfile>> {
  const places = builtIn.flatMap(({ _id }, at) =>
    asked.includes(_id) ? String(at + 1).padStart(32, '0') : [],
  )
  return readPage(
    tx,
    {
      columns: `p.shown_id AS "_id", p.name, p.built_in AS "isBuiltIn", p.choices, p.sample_messages AS "sampleMessages",
        p.created_at AS "createdAt", p.updated_at AS "updatedAt"`,
      from: `(SELECT id, id::text AS shown_id, name, false AS built_in, choices, sample_messages, created_at, updated_at
          FROM tracker_profiles
        UNION ALL
        SELECT lpad(place::text, 32, '0')::uuid, profile ->> '_id', profile ->> 'name', true, NULL, NULL, NULL, NULL
          FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS listed (profile, place)) p`,
      where: [],
      values: [JSON.stringify(builtIn)],
      bytes: storedBytes('p.choices', 'p.sample_messages'),
      id: 'p.id',
      sorts: TRACKER_PROFILE_SORTS,
      search: ['p.name'],
    },
    { ...page, ids: page.ids && [...page.ids, ...places] },
  )
}

/** A profile of the organization, or null. */
export async function findTrackerProfile(tx: Queryable, id: string): Promise<TrackerProfile | null> {
  const [row] = await tx.query<TrackerProfile>(`SELECT ${COLUMNS} FROM tracker_profiles p WHERE p.id = $1`, [
    id,
  ])
  return row ?? null
}

/** The organization's profiles among these. */
export async function listKnownProfiles(tx: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>('SELECT id FROM tracker_profiles WHERE id = ANY($1::uuid[])', [
    ids,
  ])
  return new Set(rows.map(({ id }) => id))
}

/** The choices of these profiles, of any organization. */
export async function listChoices(db: Queryable, ids: readonly string[]): Promise<Map<string, Choices>> {
  const rows = await db.query<{ id: string; choices: Choices }>(
    'SELECT id, choices FROM tracker_profiles WHERE id = ANY($1::uuid[])',
    [ids],
  )
  return new Map(rows.map(({ id, choices }) => [id, choices]))
}

export interface NewTrackerProfile {
  name: string
  choices: Choices
  sampleMessages: SampleMessage[]
}

export async function insertTrackerProfile(
  tx: Queryable,
  organizationId: string,
  profile: NewTrackerProfile,
): Promise<string> {
  const id = newId()
  await tx.orm.insert(trackerProfiles).values({ id, organizationId, ...profile })
  return id
}

/** Replaces a profile; open connections follow. */
export async function updateTrackerProfile(
  tx: Queryable,
  organizationId: string,
  id: string,
  profile: NewTrackerProfile,
): Promise<void> {
  await tx.orm
    .update(trackerProfiles)
    .set({ ...profile, updatedAt: sql`now()` })
    .where(eq(trackerProfiles.id, id))
  await notify(tx, { kind: 'tracker-profile', profileId: id, organizationId })
}

/** Deletes a profile. Violates a foreign key (class 23) while something uses it. */
export async function deleteTrackerProfile(tx: Queryable, organizationId: string, id: string): Promise<void> {
  await tx.orm.delete(trackerProfiles).where(eq(trackerProfiles.id, id))
  await notify(tx, { kind: 'tracker-profile', profileId: id, organizationId })
}
