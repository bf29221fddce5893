import '../../styles/pages.css'
import '../../styles/settings.css'
import { type ComponentType, type LazyExoticComponent, Suspense } from 'react'
import { Navigate, NavLink, useParams } from 'react-router'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { type SectionName, sectionsFor } from '../../shell/sections.ts'
import { settingsTexts as de } from '../../texts/de/settings.ts'
import { settingsTexts as en } from '../../texts/en/settings.ts'
import { useOwnTexts, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'

const TEXTS = { en, de }

const PARTS: Record<SectionName, LazyExoticComponent<ComponentType>> = {
  organization: lazyWithRetry(() => import('./organization/organization.tsx')),
  roles: lazyWithRetry(() => import('./roles/roles.tsx')),
  webhooks: lazyWithRetry(() => import('./webhooks/webhooks.tsx')),
  'audit-log': lazyWithRetry(() => import('./audit-log/audit-log.tsx')),
  account: lazyWithRetry(() => import('./account.tsx')),
}

/** The settings: a row of their sections, and one of them. */
export function Component() {
  const texts = useTexts()
  const { nav } = texts
  const t = useOwnTexts(TEXTS)
  const { may } = useWorkspace()
  const { section } = useParams()
  const sections = sectionsFor(may)
  const shown = sections.find(name => name === section)
  if (section === undefined) return <Navigate to={urls.settingsOf(sections[0] as SectionName)} replace />
  const Part = shown && PARTS[shown]
  return (
    <main className="page" id="content">
      <title>{`${shown ? nav.sections[shown] : nav.settings} · ${texts.product}`}</title>
      <header className="page-head settings-head">
        <h1>{shown ? nav.sections[shown] : nav.settings}</h1>
        <nav className="sections" aria-label={t.sections}>
          {sections.map(name => (
            <NavLink key={name} to={urls.settingsOf(name)}>
              {nav.sections[name]}
            </NavLink>
          ))}
        </nav>
        <p className="hint">{shown ? t.leads[shown] : t.none}</p>
      </header>
      <Suspense fallback={<p className="hint">{texts.loading}</p>}>{Part && <Part key={shown} />}</Suspense>
    </main>
  )
}
