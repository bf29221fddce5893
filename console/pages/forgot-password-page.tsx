import createClient from 'openapi-fetch'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { useNavigate } from 'react-router'
import { answered } from '../api/client.ts'
import { isMissing } from '../api/failure.ts'
import type { paths } from '../api/interface.d.ts'
import { useFieldTexts, useFormErrors } from '../parts/form-errors.ts'
import { Logo } from '../parts/logo.tsx'
import { ActionButton, Field, sayUndone } from '../parts/parts.tsx'
import { forgottenTexts as de } from '../texts/de/forgotten.ts'
import { forgottenTexts as en } from '../texts/en/forgotten.ts'
import { useLocale, useOwnTexts, useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

const TEXTS = { en, de }

/** Without the session of this browser. */
const guest = createClient<paths>()

/** Asks for the mail with the link to a new password. */
export function Component() {
  const texts = useTexts()
  const locale = useLocale()
  const t = useOwnTexts(TEXTS)
  const navigate = useNavigate()
  const { form, errors, clear, show } = useFormErrors()
  const fieldTexts = useFieldTexts(errors.fields)
  const [trouble, setTrouble] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const [sentTo, setSentTo] = useState<string | null>(null)
  const ask = async (email: string) => {
    setBusy(true)
    setTrouble(null)
    clear()
    try {
      // The mail is in the language of this page, whichever one the browser prefers.
      const headers = { 'accept-language': locale }
      await answered(guest.POST('/api/v3/auth/forgot-password', { body: { email }, headers }))
      setSentTo(email)
    } catch (error) {
      show(error as Error)
      setTrouble(error)
    }
    setBusy(false)
  }
  const toSignIn = <ActionButton onPress={() => void navigate(urls.signIn('/'))}>{t.toSignIn}</ActionButton>
  return (
    <main className="sign-in" id="content">
      <title>{`${t.title} · ${texts.product}`}</title>
      {sentTo === null ? (
        <Form
          ref={form}
          validationErrors={fieldTexts}
          onSubmit={event => {
            event.preventDefault()
            void ask(String(new FormData(event.currentTarget).get('email')).trim())
          }}
        >
          <h1>
            <Logo />
            {t.title}
          </h1>
          <p>{t.lead}</p>
          <Field
            label={texts.signIn.email}
            name="email"
            inputMode="email"
            autoComplete="username"
            isRequired
            autoFocus
          />
          {trouble !== null && errors.hasOthers && (
            <p className="field-error" role="alert">
              {isMissing(trouble) ? t.off : sayUndone(trouble, texts)}
            </p>
          )}
          <ActionButton looks="primary" type="submit" isPending={isBusy}>
            {isBusy ? t.sending : t.send}
          </ActionButton>
          {toSignIn}
        </Form>
      ) : (
        <div className="stack" role="status">
          <h1>
            <Logo />
            {t.sentTitle}
          </h1>
          <p>{t.sent(sentTo)}</p>
          <ActionButton looks="primary" onPress={() => void navigate(urls.signIn('/'))} autoFocus>
            {t.toSignIn}
          </ActionButton>
          <ActionButton onPress={() => setSentTo(null)}>{t.again}</ActionButton>
        </div>
      )}
    </main>
  )
}
