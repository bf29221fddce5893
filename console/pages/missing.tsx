import { Link } from 'react-aria-components'
import { useRouteError } from 'react-router'
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

export function BrokenPage() {
  const texts = useTexts()
  const error = useRouteError()
  console.error(error)
  return (
    <main className="middle" id="content">
      <title>{`${texts.errors.broken} · ${texts.product}`}</title>
      <h1>{texts.errors.broken}</h1>
      <a className="button primary" href={location.href}>
        {texts.errors.reload}
      </a>
    </main>
  )
}
