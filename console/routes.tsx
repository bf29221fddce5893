import { createBrowserRouter } from 'react-router'
import { withRetry } from './api/lazy-with-retry.ts'
import { MapPage } from './pages/map/map-page.tsx'
import { BrokenPage, MissingPage } from './pages/missing.tsx'
import { SignInPage } from './pages/sign-in-page.tsx'
import { Shell } from './shell/shell.tsx'

/** The map of the product. The server answers each of these addresses (src/resources/console/pages.ts). */
export const router = createBrowserRouter([
  { path: '/sign-in', element: <SignInPage />, errorElement: <BrokenPage /> },
  {
    path: '/',
    element: <Shell />,
    errorElement: <BrokenPage />,
    hydrateFallbackElement: <p className="middle" aria-busy="true" />,
    children: [
      {
        // What fails in a page leaves what is around it.
        errorElement: <BrokenPage />,
        children: [
          { index: true, element: <MapPage /> },
          // What is not looked at first comes when it is.
          { path: 'playback', lazy: withRetry(() => import('./pages/playback/playback-page.tsx')) },
          { path: 'devices/:id?', lazy: withRetry(() => import('./pages/records/devices.tsx')) },
          { path: 'vehicles/:id?', lazy: withRetry(() => import('./pages/records/vehicles.tsx')) },
          { path: 'teams/:id?', lazy: withRetry(() => import('./pages/records/teams.tsx')) },
          { path: 'hubs/:id?', lazy: withRetry(() => import('./pages/records/hubs.tsx')) },
          { path: 'geofences/:id?', lazy: withRetry(() => import('./pages/records/geofences.tsx')) },
          { path: 'rejections', lazy: withRetry(() => import('./pages/rejections.tsx')) },
          { path: 'links', lazy: withRetry(() => import('./pages/links.tsx')) },
          { path: '*', element: <MissingPage /> },
        ],
      },
    ],
  },
])
