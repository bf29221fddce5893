import type { Queryable } from '../client.ts'

/** A page of the sealed secrets of brokers of all organizations, after the connection `after`. */
export function listConnectionSecrets(
  db: Queryable,
  after: string | null,
): Promise<{ _id: string; secrets: string }[]> {
  return db.query(
    `SELECT id AS "_id", secrets FROM connections
     WHERE secrets IS NOT NULL AND ($1::uuid IS NULL OR id > $1) ORDER BY id LIMIT 500`,
    [after],
  )
}

/** The sealed secrets of one organization's brokers. */
export function listConnectionSecretsOf(
  db: Queryable,
  organizationId: string,
): Promise<{ _id: string; name: string; secrets: string }[]> {
  return db.query(
    `SELECT id AS "_id", name, secrets FROM connections
     WHERE organization_id = $1 AND secrets IS NOT NULL ORDER BY name, id`,
    [organizationId],
  )
}

/** Stores the secrets of a connection in another form, unless they were changed meanwhile. */
export async function replaceConnectionSecrets(
  db: Queryable,
  id: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await db.query('UPDATE connections SET secrets = $3 WHERE id = $1 AND secrets = $2', [id, from, to])
}
