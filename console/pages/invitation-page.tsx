import createClient from 'openapi-fetch'
import { useEffect, useState } from 'react'
import { useLocation, useNavigate } from 'react-router'
import { answered } from '../api/client.ts'
import { Failure, isMissing } from '../api/failure.ts'
import type { components, paths } from '../api/interface.d.ts'
import { FieldForm } from '../parts/field-form.tsx'
import { useFormErrors } from '../parts/form-errors.ts'
import { Logo } from '../parts/logo.tsx'
import { ActionButton, Field, sayUndone, Trouble } from '../parts/parts.tsx'
import { getSession, startSession } from '../session.ts'
import CodeStep from '../shell/code-step.tsx'
import { readSignInMethods } from '../shell/sign-in-setting.ts'
import SingleSignOn from '../shell/single-sign-on.tsx'
import { peopleTexts as de } from '../texts/de/people.ts'
import { peopleTexts as en } from '../texts/en/people.ts'
import { useOwnTexts, useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

const TEXTS = { en, de }

type Invitation = components['schemas']['Invitation']

/** The server's least length of a password. */
const MIN_PASSWORD = 10

/** Without the session of this browser: a wrong password must not end it. */
const guest = createClient<paths>()

/** An invited person joins here. The address holds the token behind its #. */
export function Component() {
  const texts = useTexts()
  const { accept: t } = useOwnTexts(TEXTS)
  const token = useLocation().hash.slice(1)
  const [invitation, setInvitation] = useState<Invitation | null>(null)
  const [failure, setFailure] = useState<unknown>(token === '' ? new Failure(404) : null)
  const [round, setRound] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another round reads it again
  useEffect(() => {
    if (token === '') return
    setFailure(null)
    answered(guest.POST('/api/v3/auth/invitation', { body: { token } }))
      .then(({ data }) => setInvitation(data))
      .catch(setFailure)
  }, [token, round])
  return (
    <main className="sign-in" id="content" aria-busy={invitation === null && failure === null}>
      <title>{`${t.title} · ${texts.product}`}</title>
      {invitation ? (
        <Accept
          invitation={invitation}
          token={token}
          onGone={() => setInvitation(null)}
          setFailure={setFailure}
        />
      ) : isMissing(failure) ? (
        <Gone />
      ) : (
        failure !== null && <Trouble error={failure} onRetry={() => setRound(round + 1)} />
      )}
    </main>
  )
}

function Gone() {
  const { accept: t } = useOwnTexts(TEXTS)
  const navigate = useNavigate()
  return (
    <div className="stack">
      <h1>
        <Logo />
        {t.gone}
      </h1>
      <p>{t.goneLead}</p>
      <ActionButton onPress={() => void navigate(urls.signIn('/'))}>{t.toSignIn}</ActionButton>
    </div>
  )
}

interface AcceptProps {
  invitation: Invitation
  token: string
  onGone: () => void
  setFailure: (failure: unknown) => void
}

function Accept({ invitation, token, onGone, setFailure }: AcceptProps) {
  const texts = useTexts()
  const people = useOwnTexts(TEXTS)
  const state = useFormErrors()
  const { errors, clear, show } = state
  const [trouble, setTrouble] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const { accept: t } = people
  const session = getSession()
  const [{ oidc }] = useState(readSignInMethods)
  const join = async (fields: FormData) => {
    setBusy(true)
    setTrouble(null)
    clear()
    try {
      const body = { token, name: String(fields.get('name')), password: String(fields.get('password')) }
      startSession(await answered(guest.POST('/api/v3/auth/accept-invitation', { body })))
    } catch (error) {
      setBusy(false)
      if (isMissing(error)) {
        setFailure(error)
        return onGone()
      }
      show(error as Error)
      setTrouble(error)
    }
  }
  // Null where somebody else knows the token too, who must not learn it.
  const hintOf = ({ hasAccount }: Invitation) =>
    hasAccount === true ? t.known : `${hasAccount === false ? t.fresh : t.either} ${people.passwordHint}`
  const challenge = trouble instanceof Failure ? trouble.problem.challenge : undefined
  if (challenge !== undefined) return <CodeStep challenge={challenge} onEnd={setTrouble} />
  const isWrong = trouble instanceof Failure && trouble.status === 401
  return (
    <FieldForm state={state} onSubmit={values => void join(values)}>
      <h1>
        <Logo />
        {t.title}
      </h1>
      <p>{t.to(invitation.organizationName, invitation.roleName)}</p>
      {session?.email !== undefined && <p className="note">{t.signedIn(session.email)}</p>}
      <Field label={people.email} defaultValue={invitation.email} isReadOnly autoComplete="username" />
      <Field
        label={texts.records.name}
        name="name"
        defaultValue={invitation.name}
        autoComplete="name"
        isRequired
      />
      <Field
        label={texts.signIn.password}
        name="password"
        type="password"
        validate={text =>
          invitation.hasAccount === true || text.length >= MIN_PASSWORD ? null : people.passwordHint
        }
        autoComplete={invitation.hasAccount === false ? 'new-password' : 'current-password'}
        hint={hintOf(invitation)}
        isRequired
        autoFocus
      />
      {trouble !== null && (isWrong || errors.hasOthers) && (
        <p className="field-error" role="alert">
          {isWrong ? t.wrong : sayUndone(trouble, texts)}
        </p>
      )}
      <ActionButton looks="primary" type="submit" isPending={isBusy}>
        {isBusy ? t.submitting : t.submit}
      </ActionButton>
      {oidc && <SingleSignOn label={oidc.label} returnTo={urls.signIn('/')} />}
    </FieldForm>
  )
}
