/**
 * The roots of organizations: what tenants share is shared by root. One account creates organizations at will, and further
 * accounts by inviting itself. So the root of an organization is the account at the beginning of its creator's chain of
 * invitations. Accounts that were registered from one network within a day have one root. The organizations and the guests of a
 * server's first account are roots of their own: that account runs the server.
 *
 * A root is stored when an organization is created, and never changes. It is read together with each credential and
 * remembered here, so that every queue can ask `rootOf` and no caller has to pass it on.
 */
const roots = new Map<string, string>()
/** Each takes 200 bytes. A forgotten root is read again with the next request. */
const MAX_REMEMBERED = 50_000

/** Remembers the roots of organizations. */
export function learnRoots(rows: Iterable<{ organizationId: string; root: string }>): void {
  for (const { organizationId, root } of rows) {
    if (roots.get(organizationId) === root) continue
    roots.set(organizationId, root)
    const [oldest] = roots.keys()
    if (roots.size > MAX_REMEMBERED && oldest !== undefined) roots.delete(oldest)
  }
}

/** The root of an organization. Any other owner, such as a network address, is its own root. */
export const rootOf = (owner: string): string => roots.get(owner) ?? owner
