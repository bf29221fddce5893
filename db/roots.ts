/**
 * Who is independent of whom. One account creates organizations at will, and accounts by inviting itself, so what tenants share
 * is shared by root: the account that an organization's creator goes back to, by whoever invited it, and by whoever
 * invited that one. Accounts that were registered from one network address within a day have one root. What the first account
 * of a server creates, and whom it invites, is independent: it runs the server.
 *
 * A root is stored when an organization is created, and never changes. It comes with each credential that is read, and
 * is remembered here, so that everything which shares asks `rootOf` and nobody has to pass it on.
 */
const roots = new Map<string, string>()
/** 200 bytes each. One that is forgotten comes back with its next request. */
const MAX_REMEMBERED = 50_000

/** Remembers the roots of organizations that were read. */
export function learnRoots(rows: Iterable<{ organizationId: string; root: string }>): void {
  for (const { organizationId, root } of rows) {
    if (roots.get(organizationId) === root) continue
    roots.set(organizationId, root)
    const [oldest] = roots.keys()
    if (roots.size > MAX_REMEMBERED && oldest !== undefined) roots.delete(oldest)
  }
}

/** The root of an organization. Whatever else shares, such as a network address, stands for itself. */
export const rootOf = (owner: string): string => roots.get(owner) ?? owner

/** In SQL, of the organization `o`. */
export const ROOT = 'coalesce(o.root, o.id)'
