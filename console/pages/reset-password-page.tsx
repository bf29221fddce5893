import createClient from 'openapi-fetch'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { useLocation, useNavigate } from 'react-router'
import { answered } from '../api/client.ts'
import { isMissing } from '../api/failure.ts'
import type { paths } from '../api/interface.d.ts'
import { useFieldTexts, useFormErrors } from '../parts/form-errors.ts'
import { Logo } from '../parts/logo.tsx'
import { ActionButton, Field, sayUndone } from '../parts/parts.tsx'
import { forgottenTexts as de } from '../texts/de/forgotten.ts'
import { forgottenTexts as en } from '../texts/en/forgotten.ts'
import { useOwnTexts, useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

const TEXTS = { en, de }

/** The server's least length of a password. */
const MIN_PASSWORD = 10

/** Without the session of this browser, which may be another account's. */
const guest = createClient<paths>()

/** The page of the link in a mail. The address holds the token behind its #, which a browser sends to no server. */
export function Component() {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const token = useLocation().hash.slice(1)
  const [state, setState] = useState<'open' | 'done' | 'gone'>(token === '' ? 'gone' : 'open')
  return (
    <main className="sign-in" id="content">
      <title>{`${t.chooseTitle} · ${texts.product}`}</title>
      {state === 'open' && <Choose token={token} onEnd={setState} />}
      {state === 'done' && (
        <End title={t.doneTitle} lead={t.done} way={{ to: urls.signIn('/'), name: t.toSignIn }} />
      )}
      {state === 'gone' && (
        <End title={t.gone} lead={t.goneLead} way={{ to: urls.forgotPassword, name: t.newLink }} />
      )}
    </main>
  )
}

function Choose({ token, onEnd }: { token: string; onEnd: (state: 'done' | 'gone') => void }) {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const { form, errors, clear, show } = useFormErrors()
  const fieldTexts = useFieldTexts(errors.fields)
  const [trouble, setTrouble] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const choose = async (password: string) => {
    setBusy(true)
    setTrouble(null)
    clear()
    try {
      const body = { token, password }
      await answered(guest.POST('/api/v3/auth/reset-forgotten-password', { body }))
      onEnd('done')
    } catch (error) {
      if (isMissing(error)) return onEnd('gone')
      setBusy(false)
      show(error as Error)
      setTrouble(error)
    }
  }
  return (
    <Form
      ref={form}
      validationErrors={fieldTexts}
      onSubmit={event => {
        event.preventDefault()
        void choose(String(new FormData(event.currentTarget).get('password')))
      }}
    >
      <h1>
        <Logo />
        {t.chooseTitle}
      </h1>
      <p>{t.chooseLead}</p>
      <Field
        label={t.password}
        name="password"
        type="password"
        autoComplete="new-password"
        hint={t.passwordHint}
        validate={text => (text.length >= MIN_PASSWORD ? null : t.passwordHint)}
        isRequired
        autoFocus
      />
      {trouble !== null && errors.hasOthers && (
        <p className="field-error" role="alert">
          {sayUndone(trouble, texts)}
        </p>
      )}
      <ActionButton looks="primary" type="submit" isPending={isBusy}>
        {isBusy ? t.choosing : t.choose}
      </ActionButton>
    </Form>
  )
}

/** Says how it ended, with the one way on. */
function End({ title, lead, way }: { title: string; lead: string; way: { to: string; name: string } }) {
  const navigate = useNavigate()
  return (
    <div className="stack" role="status">
      <h1>
        <Logo />
        {title}
      </h1>
      <p>{lead}</p>
      <ActionButton looks="primary" onPress={() => void navigate(way.to)} autoFocus>
        {way.name}
      </ActionButton>
    </div>
  )
}
