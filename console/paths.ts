import { PAGE_KINDS, type PageKind } from './kinds.ts'

/** A page that loads when it is opened, by its path: `/playback`, `/devices`. */
export type PageName = 'playback' | PageKind | 'rejections' | 'links'

const isKind = (name: PageName): name is PageKind => (PAGE_KINDS as readonly PageName[]).includes(name)

/** The page of a kind also shows one record. */
export const pathOf = (name: PageName): string => (isKind(name) ? `${name}/:id?` : name)

/** Every address of the console as the router matches it. The build writes them for the server (build/vite.config.ts). */
export const PATHS = [
  '/',
  '/sign-in',
  ...(['playback', ...PAGE_KINDS, 'rejections', 'links'] as const).map(name => `/${pathOf(name)}`),
]
