import { createHash, randomBytes } from 'node:crypto'
import type { Queryable } from '../../../db/client.ts'
import { listSubjects } from '../../../db/queries/newest-fixes.ts'
import { listStandings } from '../../../db/queries/sessions.ts'
import { isTaskVisible } from '../../../db/queries/tasks.ts'
import { type LinkTarget, listLinkTargets } from '../../../db/queries/tracking-links.ts'
import { createVisibilityTest, type Visibility } from '../../../db/visibility.ts'
import { scopeOf, visibilityOf } from '../../http/permissions.ts'
import { visibilityOf as taskVisibilityOf } from '../tasks/present.ts'

/** A link that shows its subject at this moment. */
export interface OpenLink extends LinkTarget {
  name: string
  /** Its subject, and nothing that its creator may not see of it. */
  visibility: Visibility
}

/** 256 random bits: nothing to guess, so that a plain digest of it is enough. */
export function createLinkToken(): { token: string; hash: Buffer } {
  const token = randomBytes(32).toString('base64url')
  return { token, hash: hashLinkToken(token) }
}

const hashLinkToken = (token: string) => createHash('sha256').update(token).digest()

/** The link of a token, or null where it is unknown, expired, revoked, or shows nothing any more. */
export async function findOpenLink(db: Queryable, token: string): Promise<OpenLink | null> {
  const [link] = await listOpenLinks(db, { hashes: [hashLinkToken(token)] })
  return link ?? null
}

/**
 * Those that are open: not expired, of a subject that is there, and created by somebody who still may see it and create
 * links. So a link never shows more than a person of the organization could. One with a task is open as long as that is to be
 * done, and its creator may see it.
 */
export async function listOpenLinks(
  db: Queryable,
  by: Parameters<typeof listLinkTargets>[1],
): Promise<OpenLink[]> {
  const links = await listLinkTargets(db, by)
  if (links.length === 0) return []
  const infos = await listSubjects(
    db,
    links.map(link => link.subject),
  )
  const subjects = new Map(infos.map(info => [info.subject, info]))
  const standings = await listStandings(
    db,
    links.map(link => link.userId),
  )
  return links.flatMap(link => {
    const { organizationId, userId, subjectId } = link
    const subject = subjects.get(link.subject)
    const standing = standings.get(userId)
    if (!subject || subject.gone || !standing) return []
    const { permissionDetails } = standing
    if (!scopeOf(permissionDetails, 'create/tracking-link') || !scopeOf(permissionDetails, 'view/location'))
      return []
    const seen = visibilityOf({ ...standing, organizationId, userId })
    if (!createVisibilityTest(seen)(subject)) return []
    if (link.task && (link.task.isDone || !scopeOf(permissionDetails, 'view/task'))) return []
    if (link.task && !isTaskVisible(taskVisibilityOf({ ...standing, userId }, 'view/task'), link.task))
      return []
    const visibility = { ...seen, subjectIds: [subjectId], teamIds: [] }
    return [{ ...link, name: subject.name, visibility }]
  })
}
