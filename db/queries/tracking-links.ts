import { newId, notify, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { trackingLinks } from '../schema/tracking-links.ts'
import { type Visibility, visibleCondition } from '../visibility.ts'
import { conditions, type Page, type PageRequest, readPage } from './page.ts'
import { deleteSome } from './prune.ts'
import { isTaskVisible, type Place, type SeenThrough, type TaskVisibility } from './tasks.ts'

export type TrackingLink = Shown<typeof trackingLinks, 'tokenHash'> & { subjectType: 'user' | 'device' }

const COLUMNS = `${shownColumns(trackingLinks, 'l', ['tokenHash'])}, s.type AS "subjectType"`
const FROM = 'tracking_links l JOIN subjects s ON s.id = l.subject_id'

export const TRACKING_LINK_SORTS = {
  createdAt: { sql: 'l.created_at', type: 'timestamptz' },
  expiresAt: { sql: 'l.expires_at', type: 'timestamptz' },
} as const

/** The links of visible subjects. */
export function listTrackingLinks(
  tx: Queryable,
  visibility: Visibility,
  filter: { subjectIds: readonly string[] | undefined },
  page: PageRequest,
): Promise<Page<TrackingLink>> {
  const { where, values, add } = conditions()
  if (filter.subjectIds) add('l.subject_id = ANY(?::uuid[])', filter.subjectIds)
  where.push(visibleCondition('s', visibility, value => `$${values.push(value)}`))
  const listing = { columns: COLUMNS, from: FROM, where, values, bytes: '200', id: 'l.id' }
  return readPage(tx, { ...listing, sorts: TRACKING_LINK_SORTS, search: [] }, page)
}

/** A link of a visible subject, or null. */
export async function findTrackingLink(
  tx: Queryable,
  id: string,
  visibility: Visibility,
): Promise<TrackingLink | null> {
  const values: unknown[] = [id]
  const seen = visibleCondition('s', visibility, value => `$${values.push(value)}`)
  const [row] = await tx.query<TrackingLink>(
    `SELECT ${COLUMNS} FROM ${FROM} WHERE l.id = $1 AND ${seen}`,
    values,
  )
  return row ?? null
}

/** The existing and visible subjects of a kind among these. */
export async function listVisibleSubjects(
  tx: Queryable,
  ids: readonly string[],
  type: 'user' | 'device',
  visibility: Visibility,
): Promise<Set<string>> {
  const values: unknown[] = [ids, type]
  const seen = visibleCondition('s', visibility, value => `$${values.push(value)}`)
  const rows = await tx.query<{ id: string }>(
    `SELECT s.id FROM subjects s WHERE s.id = ANY($1::uuid[]) AND s.type = $2 AND ${seen}
       AND (EXISTS (SELECT FROM users u WHERE u.id = s.id AND u.account_id IS NOT NULL)
         OR EXISTS (SELECT FROM devices d WHERE d.id = s.id AND d.deleted_at IS NULL))`,
    values,
  )
  return new Set(rows.map(row => row.id))
}

export async function insertTrackingLink(
  tx: Queryable,
  link: Pick<
    typeof trackingLinks.$inferInsert,
    | 'organizationId'
    | 'subjectId'
    | 'userId'
    | 'taskId'
    | 'tokenHash'
    | 'trailMinutes'
    | 'expiresAt'
    | 'isSample'
  >,
): Promise<string> {
  const id = newId()
  await tx.orm.insert(trackingLinks).values({ id, ...link })
  return id
}

/** Ends a link, on every process at once. */
export async function deleteTrackingLink(
  tx: Queryable,
  organizationId: string,
  linkId: string,
): Promise<void> {
  await tx.query('DELETE FROM tracking_links WHERE id = $1', [linkId])
  await notify(tx, { kind: 'tracking-link', linkId, organizationId })
}

/** The parts of a task that matter to its link. */
export interface LinkTask extends SeenThrough {
  id: string
  /** Whether the task's present step is the last one. */
  isDone: boolean
  destination: Place | null
}

/** The data that a link opens while it is not expired. */
export interface LinkTarget {
  id: string
  organizationId: string
  /** The creator. */
  userId: string
  /** The key and the identifier of the subject. */
  subject: number
  subjectId: string
  trailMinutes: number
  expiresAt: Date
  task: LinkTask | null
}

const TASK = `json_build_object('id', d.id, 'hubId', d.hub_id, 'teamId', d.team_id, 'assigneeId', d.assignee_id,
    'isDone', EXISTS (SELECT FROM jsonb_array_elements(f.steps) step
      WHERE step ->> 'status' = d.status AND jsonb_array_length(step -> 'next') = 0),
    'destination', CASE WHEN d.position IS NOT NULL THEN
      json_build_object('lat', ST_Y(d.position), 'lng', ST_X(d.position), 'address', d.address) END)`

/** The task for a new link, if the user may see it. */
export async function findLinkTask(
  tx: Queryable,
  id: string,
  visibility: TaskVisibility,
): Promise<LinkTask | null> {
  const [row] = await tx.query<{ task: LinkTask }>(
    `SELECT ${TASK} AS task FROM tasks d JOIN flows f ON f.id = d.flow_id WHERE d.id = $1`,
    [id],
  )
  return row && isTaskVisible(visibility, row.task) ? row.task : null
}

/** The unexpired links among these, by identifier or by the digest of their token. */
export async function listLinkTargets(
  db: Queryable,
  by: { ids?: readonly string[]; hashes?: readonly Buffer[] },
): Promise<LinkTarget[]> {
  return db.query(
    `SELECT l.id, l.organization_id AS "organizationId", l.user_id AS "userId", s.key AS subject,
       l.subject_id AS "subjectId", l.trail_minutes AS "trailMinutes", l.expires_at AS "expiresAt",
       (SELECT ${TASK} FROM tasks d JOIN flows f ON f.id = d.flow_id
        WHERE d.organization_id = l.organization_id AND d.id = l.task_id) AS task
     FROM ${FROM} JOIN organizations o ON o.id = l.organization_id
     WHERE (l.id = ANY($1::uuid[]) OR l.token_hash = ANY($2::bytea[])) AND l.expires_at > now() AND o.deleted_at IS NULL`,
    [by.ids ?? [], by.hashes ?? []],
  )
}

/** Deletes links that expired over 30 days ago. */
export const pruneTrackingLinks = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'tracking_links', `expires_at < now() - interval '30 days'`)
