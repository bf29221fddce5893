import type { Queryable } from '../../db/client.ts'
import { findBasemapChoice } from '../../db/queries/organizations.ts'
import type { Caller } from '../../db/queries/sessions.ts'

/** Whether this is an Owner of the first organization, who stands for whoever runs the server. `db` sees all organizations. */
export async function runsServer(
  db: Queryable,
  { isOwner, organizationId }: Pick<Caller, 'isOwner' | 'organizationId'>,
): Promise<boolean> {
  return isOwner && (await findBasemapChoice(db))?.organizationId === organizationId
}
