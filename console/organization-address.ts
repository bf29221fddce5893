/**
 * Every address of the console names its organization: `/o/<organization>/tasks`. Two tabs show two organizations, and a link opens
 * the same one for whoever is a member. An address without it means the organization that was opened last.
 */
const NAMED = /^\/o\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?=\/|$)/i

/** The organization that a path names. */
export const organizationIn = (path: string): string | null => NAMED.exec(path)?.[1]?.toLowerCase() ?? null

/** The part of every address of an organization. */
export const baseOf = (organization: string | null): string =>
  organization === null ? '' : `/o/${organization}`

/** A path in an organization. */
export const addressIn = (organization: string | null, path: string): string =>
  organization !== null && path === '/' ? baseOf(organization) : baseOf(organization) + path

/** A path without its organization. */
export const pathWithin = (path: string): string => path.replace(NAMED, '') || '/'

const BEFORE = ['/invitation', '/register', '/forgot-password', '/reset-password']

/** Whether a path is a page of an account that is in no organization yet, or in all of its own. */
export const isBeforeOrganization = (path: string): boolean => BEFORE.includes(path)
