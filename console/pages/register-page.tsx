import '../styles/pages.css'
import createClient from 'openapi-fetch'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { Link } from 'react-router'
import { answered } from '../api/client.ts'
import { isForbidden } from '../api/failure.ts'
import type { paths } from '../api/interface.d.ts'
import { useFieldTexts, useFormErrors } from '../parts/form-errors.ts'
import { Logo } from '../parts/logo.tsx'
import { ActionButton, Field, sayUndone } from '../parts/parts.tsx'
import { startSession } from '../session.ts'
import { registerTexts as de } from '../texts/de/register.ts'
import { registerTexts as en } from '../texts/en/register.ts'
import { useOwnTexts, useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

const TEXTS = { en, de }
/** The server's least length of a password. */
const MIN_PASSWORD = 10
const readNumber = (text: unknown) => Number(String(text).trim().replace(',', '.') || Number.NaN)

/** Without the session of this browser, which belongs to another account. */
const guest = createClient<paths>()

/** A new account with an organization of its own, where the server lets anybody create one. */
export function Component() {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const { form, errors, clear, show } = useFormErrors()
  const fieldTexts = useFieldTexts(errors.fields)
  const [failure, setFailure] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const register = async (fields: FormData) => {
    const text = (name: string) => String(fields.get(name) ?? '')
    setBusy(true)
    setFailure(null)
    clear()
    try {
      const body = {
        name: text('name'),
        email: text('email'),
        password: text('password'),
        organizationName: text('organizationName'),
        hubName: text('hubName'),
        hubLat: readNumber(text('hubLat')),
        hubLng: readNumber(text('hubLng')),
      }
      startSession(await answered(guest.POST('/api/v3/auth/register', { body })))
    } catch (error) {
      setBusy(false)
      show(error as Error)
      setFailure(error)
    }
  }
  return (
    <main className="sign-in" id="content">
      <title>{`${t.title} · ${texts.product}`}</title>
      <Form
        ref={form}
        validationErrors={fieldTexts}
        onSubmit={event => {
          event.preventDefault()
          void register(new FormData(event.currentTarget))
        }}
      >
        <h1>
          <Logo />
          {t.title}
        </h1>
        <p>{t.lead}</p>
        <Field label={t.name} name="name" autoComplete="name" isRequired autoFocus />
        <Field label={t.email} name="email" inputMode="email" autoComplete="username" isRequired />
        <Field
          label={t.password}
          name="password"
          type="password"
          autoComplete="new-password"
          validate={text => (text.length >= MIN_PASSWORD ? null : t.passwordHint)}
          hint={t.passwordHint}
          isRequired
        />
        <Field label={t.organizationName} name="organizationName" autoComplete="organization" isRequired />
        <Field label={t.hubName} name="hubName" hint={t.hubHint} isRequired />
        <div className="two">
          <Field label={t.lat} name="hubLat" inputMode="decimal" isRequired />
          <Field label={t.lng} name="hubLng" inputMode="decimal" isRequired />
        </div>
        {failure !== null && (errors.hasOthers || isForbidden(failure)) && (
          <p className="field-error" role="alert">
            {isForbidden(failure) ? t.closed : sayUndone(failure, texts)}
          </p>
        )}
        <ActionButton looks="primary" type="submit" isPending={isBusy}>
          {isBusy ? t.submitting : t.submit}
        </ActionButton>
        <p>
          <Link to={urls.signIn('/')}>{t.signIn}</Link>
        </p>
      </Form>
    </main>
  )
}
