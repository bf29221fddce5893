import type { Queryable } from '../client.ts'

/** The last point of a subject, whether it is an anomaly or not. */
export interface StoredTail {
  /** Milliseconds since 1970; null if nothing is stored. */
  recordedAt: number | null
  lat: number
  lng: number
  /** Whether the speed from the previous point exceeds 100 m/s. */
  fast: boolean
  /** Whether it is the newest fix. */
  isNewest: boolean
  /** The value of `newest_fixes.log_offset`; null without a row. */
  logOffset: number | null
}

const MS = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`

export const TAIL = `${MS('coalesce(n.last_at, n.recorded_at)')} AS "recordedAt",
  ST_Y(coalesce(n.last_position, n.position)) AS lat, ST_X(coalesce(n.last_position, n.position)) AS lng,
  coalesce(n.fast, false) AS fast, n.recorded_at IS NOT NULL AND n.last_at IS NULL AS "isNewest", n.log_offset AS "logOffset"`

/** The tails of subjects, with the accuracy limit of their organization. */
export async function listTails(
  db: Queryable,
  subjects: readonly number[],
): Promise<(StoredTail & { subject: number; organizationId: string; maxAccuracy: number | null })[]> {
  return db.query(
    `SELECT s.key AS subject, o.id AS "organizationId", CASE jsonb_typeof(o.settings -> 'maxAccuracy')
         WHEN 'number' THEN (o.settings ->> 'maxAccuracy')::float8 END AS "maxAccuracy", ${TAIL}
     FROM subjects s JOIN organizations o ON o.id = s.organization_id LEFT JOIN newest_fixes n ON n.subject_key = s.key
     WHERE s.key = ANY($1::int4[])`,
    [subjects],
  )
}
