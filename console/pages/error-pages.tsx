import { useEffect, useState } from 'react'
import { Link } from 'react-aria-components'
import { useRouteError } from 'react-router'
import { LoadFailure } from '../api/lazy-with-retry.ts'
import { ActionButton } from '../parts/parts.tsx'
import { getSession } from '../session.ts'
import { signOut } from '../shell/session-actions.ts'
import { useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

export function MissingPage() {
  const texts = useTexts()
  return (
    <main className="middle" id="content">
      <title>{`${texts.errors.missing} · ${texts.product}`}</title>
      <h1>{texts.errors.missing}</h1>
      <p>{texts.errors.missingLead}</p>
      <Link className="button primary" href={urls.map}>
        {texts.errors.home}
      </Link>
    </main>
  )
}

/** A page that was reloaded is not reloaded again within this time. */
const RELOADED_MS = 60_000

function mayReload(): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return navigation?.type !== 'reload' || performance.now() > RELOADED_MS
}

/**
 * A part of a page that once failed to load fails until the page is reloaded: it reloads itself at once, as nothing typed can be
 * lost where a page is opened. Whatever fails with this session, signing out leads to a page that works without one.
 */
export function BrokenPage() {
  const texts = useTexts()
  const error = useRouteError()
  const [isReloading] = useState(() => error instanceof LoadFailure && mayReload())
  useEffect(() => {
    if (isReloading) location.reload()
    else console.error(error)
  }, [isReloading, error])
  if (isReloading) return <main className="middle" id="content" aria-busy />
  const title = error instanceof LoadFailure ? texts.errors.unloaded : texts.errors.broken
  return (
    <main className="middle" id="content">
      <title>{`${title} · ${texts.product}`}</title>
      <h1>{title}</h1>
      <a className="button primary" href={location.href}>
        {texts.errors.reload}
      </a>
      {getSession() && (
        <ActionButton
          onPress={() => {
            signOut()
            location.assign(urls.signIn(urls.map))
          }}
        >
          {texts.account.signOut}
        </ActionButton>
      )}
    </main>
  )
}
