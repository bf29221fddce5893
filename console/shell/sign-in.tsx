import { Suspense, useEffect, useState } from 'react'
import { Form } from 'react-aria-components'
import { answered, api } from '../api/client.ts'
import { Failure, isMissing } from '../api/failure.ts'
import { lazyWithRetry, preload } from '../api/lazy-with-retry.ts'
import { Logo } from '../parts/logo.tsx'
import { ActionButton, Field, sayUndone } from '../parts/parts.tsx'
import { getOrganization, startSession } from '../session.ts'
import { useTexts } from '../texts/texts.tsx'
import { readSignInMethods } from './sign-in-setting.ts'

const CodeStep = lazyWithRetry(() => import('./code-step.tsx'))
const SingleSignOn = lazyWithRetry(() => import('./single-sign-on.tsx'))
const ForgotPasswordLink = lazyWithRetry(() => import('./forgot-password-link.tsx'))
const NoMember = lazyWithRetry(() => import('./no-member.tsx'))
const RegisterLink = lazyWithRetry(() => import('./register-link.tsx'))

/** The sign-in form. `isAgain`: the person was signed in before, and continues there. */
export function SignIn({ isAgain }: { isAgain: boolean }) {
  const texts = useTexts()
  const [failure, setFailure] = useState<unknown>(null)
  const [isNoMember, setNoMember] = useState(false)
  const [busy, setBusy] = useState(false)
  const [{ password, forgotPassword, oidc, signUp }] = useState(readSignInMethods)
  const [isPassword, setPassword] = useState(password)
  // The map loads while somebody types the password.
  useEffect(preload, [])
  const signIn = async (form: FormData) => {
    setBusy(true)
    setFailure(null)
    try {
      const organizationId = isNoMember ? null : getOrganization()
      const body = {
        email: String(form.get('email')),
        password: String(form.get('password')),
        ...(organizationId !== null && { organizationId }),
      }
      startSession(await answered(api.POST('/api/v3/auth/login', { body })))
    } catch (error) {
      setFailure(error)
      setNoMember(isMissing(error))
      setBusy(false)
    }
  }
  const challenge = failure instanceof Failure ? failure.problem.challenge : undefined
  if (challenge !== undefined)
    return (
      <Suspense>
        <CodeStep challenge={challenge} onEnd={setFailure} />
      </Suspense>
    )
  if (oidc && !isPassword)
    return (
      <Suspense>
        <SingleSignOn label={oidc.label} onPassword={() => setPassword(true)} />
      </Suspense>
    )
  return (
    <main className="sign-in" id="content">
      <title>{`${texts.signIn.title} · ${texts.product}`}</title>
      <Form
        onSubmit={event => {
          event.preventDefault()
          void signIn(new FormData(event.currentTarget))
        }}
      >
        <h1>
          <Logo />
          {texts.product}
        </h1>
        {isAgain && <p className="note">{texts.signIn.ended}</p>}
        <Field
          label={texts.signIn.email}
          name="email"
          // With type="email", browsers refuse addresses of RFC 6531 and send domains as punycode.
          inputMode="email"
          autoComplete="username"
          isRequired
          autoFocus
        />
        <Field
          label={texts.signIn.password}
          name="password"
          type="password"
          autoComplete="current-password"
          isRequired
        />
        {isNoMember ? (
          <Suspense>
            <NoMember />
          </Suspense>
        ) : (
          failure !== null && (
            <p className="field-error" role="alert">
              {sayUndone(failure, texts)}
            </p>
          )
        )}
        <ActionButton looks="primary" type="submit" isPending={busy}>
          {busy ? texts.signIn.submitting : texts.signIn.submit}
        </ActionButton>
        {forgotPassword && (
          <Suspense>
            <ForgotPasswordLink />
          </Suspense>
        )}
        <p className="hint">{texts.signIn.hint}</p>
        {oidc && (
          <Suspense>
            <SingleSignOn label={oidc.label} />
          </Suspense>
        )}
        {signUp && (
          <Suspense>
            <RegisterLink />
          </Suspense>
        )}
      </Form>
    </main>
  )
}
