import { useEffect, useState } from 'react'
import { Form } from 'react-aria-components'
import { answered, api } from '../api/client.ts'
import { preload } from '../api/lazy-with-retry.ts'
import { Logo } from '../parts/logo.tsx'
import { ActionButton, Field, sayUndone } from '../parts/parts.tsx'
import { startSession } from '../session.ts'
import { useTexts } from '../texts/texts.tsx'

/** The sign-in form. `isAgain`: the person was signed in before, and continues there. */
export function SignIn({ isAgain }: { isAgain: boolean }) {
  const texts = useTexts()
  const [failure, setFailure] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  // The map loads while somebody types the password.
  useEffect(preload, [])
  const signIn = async (form: FormData) => {
    setBusy(true)
    setFailure(null)
    try {
      const body = { email: String(form.get('email')), password: String(form.get('password')) }
      startSession(await answered(api.POST('/api/v3/auth/login', { body })))
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
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
        {failure !== null && (
          <p className="field-error" role="alert">
            {sayUndone(failure, texts)}
          </p>
        )}
        <ActionButton looks="primary" type="submit" isPending={busy}>
          {busy ? texts.signIn.submitting : texts.signIn.submit}
        </ActionButton>
        <p className="hint">{texts.signIn.hint}</p>
      </Form>
    </main>
  )
}
