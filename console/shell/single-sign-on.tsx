import '../styles/second-factor.css'
import { useEffect, useState } from 'react'
import { useLocation, useNavigate } from 'react-router'
import { answered, api } from '../api/client.ts'
import { Logo } from '../parts/logo.tsx'
import { ActionButton, sayUndone } from '../parts/parts.tsx'
import { startSession } from '../session.ts'
import { forget, keep, readKept } from '../storage.ts'
import { signInTexts as de } from '../texts/de/sign-in.ts'
import { signInTexts as en } from '../texts/en/sign-in.ts'
import { describe } from '../texts/errors.ts'
import { useOwnTexts, useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

const TEXTS = { en, de }

/** The attempt of this browser: a stranger's link with a code of the stranger's own account signs nobody in. */
const KEY = 'fieldline.single-sign-on'
const START = '/api/v3/auth/oidc/start'
/** The parameters with which the server comes back. */
const OURS = ['attempt', 'code', 'problem'] as const

function begin(returnTo: string): void {
  const attempt = crypto.getRandomValues(new Uint32Array(4)).join('-')
  keep(KEY, { attempt })
  const url = new URL(returnTo, location.origin)
  for (const name of OURS) url.searchParams.delete(name)
  url.searchParams.set('attempt', attempt)
  location.assign(`${START}?returnTo=${encodeURIComponent(url.pathname + url.search)}`)
}

/** Whether this browser has begun the attempt; once. */
function isOwn(attempt: string | null): boolean {
  const kept = readKept(KEY, fields => (typeof fields.attempt === 'string' ? fields.attempt : null))
  if (attempt === null || kept !== attempt) return false
  forget(KEY)
  return true
}

interface Props {
  label: string
  /** The path to come back to; by default the sign-in page with its address to go on to. */
  returnTo?: string
  /** Shows the form for a password, where passwords are closed for all but the first owner. */
  onPassword?: () => void
}

/** The way to the provider of single sign-on, and back. */
export default function SingleSignOn({ label, returnTo, onPassword }: Props) {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const { pathname, search } = useLocation()
  const navigate = useNavigate()
  const [back] = useState(() => new URLSearchParams(search))
  const [failure, setFailure] = useState<unknown>(null)
  const [isEntering, setEntering] = useState(false)
  const [problem] = useState(() => back.get('problem'))
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, with the address that the page was opened at
  useEffect(() => {
    if (!OURS.some(name => back.has(name))) return
    const [code, attempt] = [back.get('code'), back.get('attempt')]
    const rest = new URLSearchParams(back)
    for (const name of OURS) rest.delete(name)
    // No history and no bookmark keeps the code.
    const address = rest.size > 0 ? `${pathname}?${rest}` : pathname
    const clear = () => void navigate(address, { replace: true })
    if (code === null || !isOwn(attempt)) return clear()
    setEntering(true)
    answered(api.POST('/api/v3/auth/oidc/session', { body: { code } }))
      .then(startSession)
      .catch((error: unknown) => {
        setFailure(error)
        setEntering(false)
        clear()
      })
  }, [])
  const told =
    problem === 'unavailable'
      ? t.away
      : problem === 'no-organization'
        ? t.notInvited
        : problem !== null && problem in texts.problems.failures
          ? describe({ code: problem, message: '' }, 'failures', texts.problems).text
          : null
  const here = pathname + search
  const way = (
    <>
      {(failure !== null || told !== null) && (
        <p className="field-error" role="alert">
          {failure === null ? told : sayUndone(failure, texts)}
        </p>
      )}
      <ActionButton
        looks={onPassword ? 'primary' : 'plain'}
        autoFocus={onPassword !== undefined}
        isPending={isEntering}
        onPress={() => begin(returnTo ?? (pathname === urls.signIn('/') ? here : urls.signIn(here)))}
      >
        {isEntering ? t.entering : t.with(label)}
      </ActionButton>
    </>
  )
  if (!onPassword)
    return (
      <>
        <p className="sign-in-or">{t.or}</p>
        {way}
      </>
    )
  return (
    <main className="sign-in" id="content">
      <title>{`${texts.signIn.title} · ${texts.product}`}</title>
      <div className="factor-page">
        <h1>
          <Logo />
          {texts.product}
        </h1>
        {way}
        <p className="hint">{t.ownerAlone}</p>
        <ActionButton onPress={onPassword}>{t.withPassword}</ActionButton>
      </div>
    </main>
  )
}
