import { PAGE_KINDS, type PageKind } from './kinds.ts'

/** A page that loads when it is opened, by its path: `/playback`, `/devices`. */
export type PageName =
  | 'playback'
  | PageKind
  | 'schedules'
  | 'imports'
  | 'rejections'
  | 'links'
  | 'server'
  | 'settings'

const isKind = (name: PageName): name is PageKind => (PAGE_KINDS as readonly PageName[]).includes(name)

/** The page of a kind also shows one record, and the settings one of their sections. */
export const pathOf = (name: PageName): string =>
  name === 'settings' ? 'settings/:section?/:id?' : isKind(name) ? `${name}/:id?` : name

/** The addresses within an organization, as the router matches them. */
export const PATHS = [
  '/',
  '/sign-in',
  '/invitation',
  '/forgot-password',
  '/reset-password',
  '/register',
  // The server's router knows optional parts at the end alone.
  '/settings',
  '/settings/:section/:id?',
  ...(['playback', ...PAGE_KINDS, 'schedules', 'imports', 'rejections', 'links', 'server'] as const).map(
    name => `/${pathOf(name)}`,
  ),
]

/**
 * Every address that the server answers with the page: within an organization (organization-address.ts), or in the one that was
 * opened last. The build writes them for the server (build/vite.config.ts).
 */
export const ADDRESSES = PATHS.flatMap(path => [path, `/o/:organization${path === '/' ? '' : path}`])
