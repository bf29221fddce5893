import { createBrowserRouter, type LazyRouteFunction, type RouteObject } from 'react-router'
import { withRetry } from './api/lazy-with-retry.ts'
import { BrokenPage, MissingPage } from './pages/error-pages.tsx'
import { MapPage } from './pages/map/map-page.tsx'
import { SignInPage } from './pages/sign-in-page.tsx'
import { type PageName, pathOf } from './paths.ts'
import { Shell } from './shell/shell.tsx'

/** The pages that load when they are opened. */
const PAGES: Record<PageName, LazyRouteFunction<RouteObject>> = {
  playback: () => import('./pages/playback/playback-page.tsx'),
  devices: () => import('./pages/records/devices.tsx'),
  vehicles: () => import('./pages/records/vehicles.tsx'),
  teams: () => import('./pages/records/teams.tsx'),
  hubs: () => import('./pages/records/hubs.tsx'),
  geofences: () => import('./pages/records/geofences.tsx'),
  rejections: () => import('./pages/rejections.tsx'),
  links: () => import('./pages/links.tsx'),
}

/** The map of the product. The server answers the same addresses (paths.ts). */
export const router = createBrowserRouter([
  { path: '/sign-in', element: <SignInPage />, errorElement: <BrokenPage /> },
  {
    path: '/',
    element: <Shell />,
    errorElement: <BrokenPage />,
    hydrateFallbackElement: <p className="middle" aria-busy="true" />,
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
])
