import './styles/index.css'
import './preferences.ts'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { RouterProvider } from 'react-router/dom'
import { keepRenewing } from './api/renewal.ts'
import { router } from './routes.tsx'
import { TextsProvider } from './texts/texts.tsx'

keepRenewing()
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <TextsProvider>
      <RouterProvider router={router} />
    </TextsProvider>
  </StrictMode>,
)
