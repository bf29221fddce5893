import './styles/index.css'
import './preferences.ts'
import { StrictMode, useSyncExternalStore } from 'react'
import { createRoot } from 'react-dom/client'
import { RouterProvider } from 'react-router/dom'
import { keepRenewing } from './api/renewal.ts'
import { isBeforeOrganization, organizationIn } from './organization-address.ts'
import { currentRouter } from './routes.tsx'
import { adoptOrganization, getOrganization, onSession } from './session.ts'
import { TextsProvider } from './texts/texts.tsx'

function App() {
  const router = useSyncExternalStore(onSession, currentRouter)
  return <RouterProvider key={router.basename} router={router} />
}

if (!isBeforeOrganization(location.pathname)) adoptOrganization()
// The back button may lead to an address of another organization.
window.addEventListener('popstate', event => {
  if (organizationIn(location.pathname) === getOrganization()) return
  event.stopImmediatePropagation()
  location.reload()
})
keepRenewing()
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <TextsProvider>
      <App />
    </TextsProvider>
  </StrictMode>,
)
