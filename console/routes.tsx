import { createBrowserRouter, type LazyRouteFunction, type RouteObject } from 'react-router'
import { withRetry } from './api/lazy-with-retry.ts'
import {
  addressIn,
  baseOf,
  isBeforeOrganization,
  organizationIn,
  pathWithin,
} from './organization-address.ts'
import { BrokenPage, MissingPage } from './pages/error-pages.tsx'
import { MapPage } from './pages/map/map-page.tsx'
import { SignInPage } from './pages/sign-in-page.tsx'
import { type PageName, pathOf } from './paths.ts'
import { getOrganization } from './session.ts'
import { Shell } from './shell/shell.tsx'
import { urls } from './urls.ts'

/** The pages that load when they are opened. */
const PAGES: Record<PageName, LazyRouteFunction<RouteObject>> = {
  playback: () => import('./pages/playback/playback-page.tsx'),
  tasks: () => import('./pages/tasks/tasks-page.tsx'),
  devices: () => import('./pages/records/devices.tsx'),
  vehicles: () => import('./pages/records/vehicles.tsx'),
  teams: () => import('./pages/records/teams.tsx'),
  hubs: () => import('./pages/records/hubs.tsx'),
  geofences: () => import('./pages/records/geofences.tsx'),
  'data-types': () => import('./pages/data/data-page.tsx'),
  schedules: () => import('./pages/schedules/schedules-page.tsx'),
  imports: () => import('./pages/imports/imports-page.tsx'),
  connections: () => import('./pages/records/connections.tsx'),
  'tracker-profiles': () => import('./pages/records/tracker-profiles.tsx'),
  'api-keys': () => import('./pages/records/api-keys.tsx'),
  rejections: () => import('./pages/rejections.tsx'),
  links: () => import('./pages/links.tsx'),
  users: () => import('./pages/records/users.tsx'),
  server: () => import('./pages/server/server-page.tsx'),
  settings: () => import('./pages/settings/settings-page.tsx'),
}

const loading = <p className="middle" aria-busy="true" />

/** The map of the product. The server answers the same addresses (paths.ts). */
const ROUTES: RouteObject[] = [
  { path: '/sign-in', element: <SignInPage />, errorElement: <BrokenPage /> },
  {
    path: '/invitation',
    lazy: withRetry(() => import('./pages/invitation-page.tsx')),
    errorElement: <BrokenPage />,
    hydrateFallbackElement: loading,
  },
  {
    path: '/forgot-password',
    lazy: withRetry(() => import('./pages/forgot-password-page.tsx')),
    errorElement: <BrokenPage />,
    hydrateFallbackElement: loading,
  },
  {
    path: '/reset-password',
    lazy: withRetry(() => import('./pages/reset-password-page.tsx')),
    errorElement: <BrokenPage />,
    hydrateFallbackElement: loading,
  },
  {
    path: urls.register,
    lazy: withRetry(() => import('./pages/register-page.tsx')),
    errorElement: <BrokenPage />,
    hydrateFallbackElement: loading,
  },
  {
    path: '/',
    element: <Shell />,
    errorElement: <BrokenPage />,
    hydrateFallbackElement: loading,
    children: [
      {
        // An error in a page leaves the frame around it.
        errorElement: <BrokenPage />,
        children: [
          { index: true, element: <MapPage /> },
          ...Object.entries(PAGES).map(([name, load]) => ({
            path: pathOf(name as PageName),
            lazy: withRetry(load),
          })),
          { path: '*', element: <MissingPage /> },
        ],
      },
    ],
  },
]

type Router = ReturnType<typeof createBrowserRouter>
let current: { organization: string | null; router: Router } | null = null

/** The router of this tab's organization, whose pages lie below `/o/<organization>`. */
export function currentRouter(): Router {
  const organization = getOrganization()
  if (current?.organization === organization) return current.router
  current?.router.dispose()
  moveAddress(organization)
  current = { organization, router: createBrowserRouter(ROUTES, { basename: baseOf(organization) || '/' }) }
  return current.router
}

/** Somebody who signs in continues at the same path. In another organization its records do not exist: it begins with the map. */
function moveAddress(organization: string | null): void {
  const { pathname, search, hash } = location
  const named = organizationIn(pathname)
  if (named === organization) return
  const isAnother = named !== null && organization !== null
  const isJoined = isBeforeOrganization(pathname)
  const path = isAnother || isJoined ? '/' : pathWithin(pathname) + search + hash
  history[isAnother ? 'pushState' : 'replaceState'](null, '', addressIn(organization, path))
}
