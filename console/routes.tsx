import { createBrowserRouter } from 'react-router'
import { MapPage } from './pages/map/map-page.tsx'
import { BrokenPage, MissingPage } from './pages/missing.tsx'
import { SignInPage } from './pages/sign-in.tsx'
import { patient } from './parts/patient.ts'
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
          { path: 'playback', lazy: patient(() => import('./pages/playback/playback-page.tsx')) },
          { path: 'devices/:id?', lazy: patient(() => import('./pages/records/devices.tsx')) },
          { path: 'vehicles/:id?', lazy: patient(() => import('./pages/records/vehicles.tsx')) },
          { path: 'teams/:id?', lazy: patient(() => import('./pages/records/teams.tsx')) },
          { path: 'hubs/:id?', lazy: patient(() => import('./pages/records/hubs.tsx')) },
          { path: 'geofences/:id?', lazy: patient(() => import('./pages/records/geofences.tsx')) },
          { path: 'rejections', lazy: patient(() => import('./pages/rejections.tsx')) },
          { path: 'links', lazy: patient(() => import('./pages/links.tsx')) },
          { path: '*', element: <MissingPage /> },
        ],
      },
    ],
  },
])
