import { notify, type Queryable } from '../client.ts'

/** Queries of the sample company that touch many tables. */

export interface SampleState {
  /** The status of the last job that created it; null without one. */
  status: 'queued' | 'running' | 'done' | 'failed' | 'cancelled' | null
  progress: { done: number; of: number } | null
  hasHubs: boolean
  /** Whether any sample is there, of a company or of those that come with an organization. */
  hasSamples: boolean
}

/** The state of the organization's samples. */
export async function findSampleState(tx: Queryable, kind: string): Promise<SampleState> {
  const [row] = await tx.query<SampleState>(
    `SELECT j.status, j.progress, EXISTS (SELECT FROM hubs) AS "hasHubs",
       EXISTS (SELECT FROM hubs WHERE is_sample) OR EXISTS (SELECT FROM vehicles WHERE is_sample)
         OR EXISTS (SELECT FROM data_types WHERE is_sample) OR EXISTS (SELECT FROM tasks WHERE is_sample) AS "hasSamples"
     FROM (SELECT 1) one LEFT JOIN LATERAL (
       SELECT CASE WHEN cancel_requested THEN 'cancelled' ELSE status END AS status, progress FROM jobs WHERE kind = $1 ORDER BY created_at DESC, id DESC LIMIT 1) j ON true`,
    [kind],
  )
  return row as SampleState
}

/** The default role Field user of the organization, or null. */
export async function findFieldRole(tx: Queryable): Promise<string | null> {
  const [row] = await tx.query<{ id: string }>(
    `SELECT id FROM roles WHERE is_default AND name = 'Field user'`,
  )
  return row?.id ?? null
}

/** The names that are taken in the organization. */
export async function listNames(
  tx: Queryable,
  organizationId: string,
  table: 'teams' | 'flows' | 'data_types',
): Promise<Set<string>> {
  const rows = await tx.query<{ name: string }>(`SELECT name FROM ${table} WHERE organization_id = $1`, [
    organizationId,
  ])
  return new Set(rows.map(({ name }) => name))
}

/** Has the mounts of these devices begin earlier. */
export async function backdateMounts(tx: Queryable, deviceIds: readonly string[], at: Date): Promise<void> {
  await tx.query('UPDATE mounts SET mounted_at = $2 WHERE device_id = ANY($1::uuid[])', [
    deviceIds,
    at.toISOString(),
  ])
}

/** The subject keys of devices, in their order. */
export async function listKeysOf(tx: Queryable, deviceIds: readonly string[]): Promise<number[]> {
  const rows = await tx.query<{ key: number }>(
    'SELECT key FROM subjects WHERE id = ANY($1::uuid[]) ORDER BY array_position($1::uuid[], id)',
    [deviceIds],
  )
  return rows.map(({ key }) => key)
}

/** The organization's own imports into sample types that wait or work, by the name of their file. */
export async function listUnfinishedImports(tx: Queryable): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `SELECT i.file_name AS name FROM imports i JOIN data_types t ON t.id = i.data_type_id
     WHERE t.is_sample AND NOT i.is_sample AND i.status IN ('queued', 'processing') ORDER BY i.id`,
  )
  return rows.map(({ name }) => name)
}

/** A user or device of the sample company. */
interface SampleSubject {
  id: string
  key: number
  type: 'user' | 'device'
}

const listSampleSubjects = (tx: Queryable, organizationId: string): Promise<SampleSubject[]> =>
  tx.query(
    `SELECT s.id, s.key, s.type FROM subjects s WHERE s.organization_id = $1
       AND (EXISTS (SELECT FROM devices d WHERE d.id = s.id AND d.is_sample)
         OR EXISTS (SELECT FROM users u WHERE u.id = s.id AND u.is_sample))`,
    [organizationId],
  )

/** The organization's sample records that any number of tasks may name. */
export function listSampleTaskReferences(
  tx: Queryable,
): Promise<{ reference: 'team_id' | 'vehicle_id' | 'schedule_id'; id: string }[]> {
  return tx.query(
    `SELECT 'team_id' AS reference, id FROM teams WHERE is_sample UNION ALL SELECT 'vehicle_id', id FROM vehicles WHERE is_sample
     UNION ALL SELECT 'schedule_id', id FROM schedules WHERE is_sample`,
  )
}

/** Rows that sample devices, their people and geofences have caused, of which there may be any number. */
const CAUSED = [
  ['geofence_events', 'subject_id = ANY($2::uuid[])', 'id'],
  ['geofence_spans', 'subject_key = ANY($2::int4[])', 'key'],
  ['rejections', 'subject_key = ANY($2::int4[])', 'key'],
  ['rejection_counts', 'subject_key = ANY($2::int4[])', 'key'],
  ['commands', 'device_id = ANY($2::uuid[])', 'id'],
  ['geofence_events', 'geofence_id = ANY($2::uuid[])', 'geofence'],
] as const

/** Deletes at most `limit` of those rows. Returns their number. Call it across organizations. */
export async function deleteSomeCaused(
  tx: Queryable,
  organizationId: string,
  limit: number,
): Promise<number> {
  const subjects = await listSampleSubjects(tx, organizationId)
  const geofences = await tx.query<{ id: string }>(
    'SELECT id FROM geofences WHERE organization_id = $1 AND is_sample',
    [organizationId],
  )
  const causes = {
    id: subjects.map(({ id }) => id),
    key: subjects.map(({ key }) => key),
    geofence: geofences.map(({ id }) => id),
  }
  let deleted = 0
  for (const [table, condition, cause] of CAUSED) {
    const rows = await tx.query(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM ${table} WHERE organization_id = $1 AND ${condition} LIMIT $3::int4)) RETURNING 1`,
      [organizationId, causes[cause], limit - deleted],
    )
    deleted += rows.length
  }
  return deleted
}

/**
 * Deletes the company's people, devices and vehicles, with all that is bound to them but their points: those are many, and
 * their subjects' keys are returned. Tasks, schedules and data records go before. Call it across organizations, after
 * `beginFenceChange`.
 */
export async function deleteSamplePeople(
  tx: Queryable,
  organizationId: string,
): Promise<{ subjects: number[]; removed: { [resource: string]: number } }> {
  const subjects = await listSampleSubjects(tx, organizationId)
  const ids = subjects.map(({ id }) => id)
  const keys = subjects.map(({ key }) => key)
  const remove = async (statement: string, ...values: unknown[]): Promise<string[]> => {
    const gone = await tx.query<{ id: string }>(`DELETE FROM ${statement} RETURNING id`, [
      organizationId,
      ...values,
    ])
    return gone.map(({ id }) => id)
  }
  // In the order of mountDevice.
  await tx.query('SELECT FROM vehicles WHERE organization_id = $1 AND is_sample ORDER BY id FOR UPDATE', [
    organizationId,
  ])
  // From here on nobody makes a command for them.
  await tx.query('UPDATE devices SET deleted_at = now() WHERE organization_id = $1 AND is_sample', [
    organizationId,
  ])
  await remove('commands WHERE organization_id = $1 AND device_id = ANY($2::uuid[])', ids)
  const links = await remove(
    'tracking_links WHERE organization_id = $1 AND (is_sample OR subject_id = ANY($2::uuid[]) OR user_id = ANY($2::uuid[]))',
    ids,
  )
  await remove(
    `geofence_events WHERE organization_id = $1 AND (subject_id = ANY($2::uuid[])
       OR geofence_id IN (SELECT id FROM geofences WHERE organization_id = $1 AND is_sample))`,
    ids,
  )
  const geofences = await remove('geofences WHERE organization_id = $1 AND is_sample')
  for (const table of ['geofence_spans', 'rejections', 'rejection_counts'])
    await tx.query(`DELETE FROM ${table} WHERE organization_id = $1 AND subject_key = ANY($2::int4[])`, [
      organizationId,
      keys,
    ])
  await tx.query('DELETE FROM newest_fixes WHERE subject_key = ANY($1::int4[])', [keys])
  // Mounts of own devices outlive the vehicle (0090).
  for (const table of ['mounts', 'device_references'])
    await tx.query(`DELETE FROM ${table} WHERE organization_id = $1 AND device_id = ANY($2::uuid[])`, [
      organizationId,
      ids,
    ])
  const vehicles = await remove('vehicles WHERE organization_id = $1 AND is_sample')
  const teams = await remove('teams WHERE organization_id = $1 AND is_sample')
  const accounts = await tx.query<{ id: string }>(
    'DELETE FROM users WHERE organization_id = $1 AND is_sample RETURNING account_id AS id',
    [organizationId],
  )
  // One of them may have been invited to another organization since.
  await tx.query(
    'DELETE FROM accounts a WHERE id = ANY($1::uuid[]) AND NOT EXISTS (SELECT FROM users WHERE account_id = a.id)',
    [accounts.map(({ id }) => id)],
  )
  const devices = await remove('devices WHERE organization_id = $1 AND is_sample')
  await remove('subjects WHERE organization_id = $1 AND id = ANY($2::uuid[])', ids)
  await notify(
    tx,
    ...links.map(linkId => ({ kind: 'tracking-link' as const, linkId, organizationId })),
    ...subjects.map(({ id, type }) =>
      type === 'device'
        ? { kind: 'device' as const, deviceId: id, organizationId }
        : { kind: 'user' as const, userId: id, organizationId },
    ),
  )
  return {
    subjects: keys,
    removed: {
      ...{ vehicles: vehicles.length, devices: devices.length, users: accounts.length, teams: teams.length },
      ...{ geofences: geofences.length, trackingLinks: links.length },
    },
  }
}

/**
 * Deletes the sample imports, with their failed rows and jobs. One that works locks its row before it commits records, so
 * those are there for whoever deletes records afterwards, or it finds its row gone. Returns their identifiers.
 */
export async function deleteSampleImports(
  tx: Queryable,
  organizationId: string,
  kind: string,
): Promise<string[]> {
  const gone = await tx.query<{ id: string }>(
    'DELETE FROM imports WHERE organization_id = $1 AND is_sample RETURNING id',
    [organizationId],
  )
  const ids = gone.map(({ id }) => id)
  await tx.query(
    'DELETE FROM jobs WHERE organization_id = $1 AND kind = $2 AND unique_key = ANY($3::text[])',
    [organizationId, kind, ids],
  )
  return ids
}

/** Deletes the sample flows and hubs that nothing refers to, and what is left of the company behind the records. */
export async function deleteSamplePlaces(
  tx: Queryable,
  organizationId: string,
  kind: string,
): Promise<{ [resource: string]: number }> {
  const unused = (tables: readonly string[], column: string) =>
    tables
      .map(
        table =>
          `AND NOT EXISTS (SELECT FROM ${table} r WHERE r.organization_id = t.organization_id AND r.${column} = t.id)`,
      )
      .join(' ')
  const flows = await tx.query(
    `DELETE FROM flows t WHERE organization_id = $1 AND is_sample ${unused(['tasks', 'schedules'], 'flow_id')} RETURNING 1`,
    [organizationId],
  )
  const users = ['vehicles', 'teams', 'geofences', 'connections', 'tasks', 'schedules']
  const hubs = await tx.query(
    `DELETE FROM hubs t WHERE organization_id = $1 AND is_sample ${unused(users, 'hub_id')}
       ${unused(['devices'], 'bound_hub_id')} RETURNING 1`,
    [organizationId],
  )
  // The next code of a task begins anew where there is none.
  await tx.query(
    `DELETE FROM task_counters WHERE organization_id = $1
       AND NOT EXISTS (SELECT FROM tasks WHERE organization_id = $1)`,
    [organizationId],
  )
  await tx.query(
    `DELETE FROM jobs WHERE organization_id = $1 AND kind = $2 AND status NOT IN ('queued', 'running')`,
    [organizationId, kind],
  )
  return { flows: flows.length, hubs: hubs.length }
}
