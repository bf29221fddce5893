import './index.css'
import '../preferences.ts'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { TextsProvider } from '../texts/texts.tsx'
import { Reference } from './reference.tsx'

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <TextsProvider only="en">
      <Reference />
    </TextsProvider>
  </StrictMode>,
)
