import { useEffect, useRef, useState } from 'react'
import { Form } from 'react-aria-components'
import { answered, api } from '../api/client.ts'
import { Failure } from '../api/failure.ts'
import { Logo } from '../parts/logo.tsx'
import { ActionButton, Field, sayUndone } from '../parts/parts.tsx'
import { startSession } from '../session.ts'
import { signInTexts as de } from '../texts/de/sign-in.ts'
import { signInTexts as en } from '../texts/en/sign-in.ts'
import { useOwnTexts, useTexts } from '../texts/texts.tsx'

const TEXTS = { en, de }

interface Props {
  challenge: string
  /** Begins again with the password; with the failure that ended this sign-in, if there is one. */
  onEnd: (failure: unknown) => void
}

/** The second step of signing in: a code of the app, or a recovery code. */
export default function CodeStep({ challenge, onEnd }: Props) {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const form = useRef<HTMLFormElement>(null)
  const [isRecovery, setRecovery] = useState(false)
  const [code, setCode] = useState('')
  const [failure, setFailure] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  // The field appears in place of the password, and after a refusal the next code is typed over the last one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the focus moves when the field or the failure changes
  useEffect(() => {
    const input = form.current?.querySelector('input')
    input?.focus()
    input?.select()
  }, [isRecovery, failure])
  const send = async () => {
    setBusy(true)
    setFailure(null)
    try {
      startSession(await answered(api.POST('/api/v3/auth/login/totp', { body: { challenge, code } })))
    } catch (error) {
      if (error instanceof Failure && error.problem.code === 'challenge-ended') return onEnd(error)
      setFailure(error)
      setBusy(false)
    }
  }
  const choose = (recovery: boolean) => {
    setRecovery(recovery)
    setCode('')
    setFailure(null)
  }
  return (
    <main className="sign-in" id="content">
      <title>{`${t.codeTitle} · ${texts.product}`}</title>
      <Form
        ref={form}
        onSubmit={event => {
          event.preventDefault()
          void send()
        }}
      >
        <h1>
          <Logo />
          {t.codeTitle}
        </h1>
        <p>{isRecovery ? t.recoveryLead : t.codeLead}</p>
        <Field
          key={isRecovery ? 'recovery' : 'app'}
          label={isRecovery ? t.recovery : t.code}
          name="code"
          value={code}
          onChange={setCode}
          inputMode={isRecovery ? 'text' : 'numeric'}
          autoComplete={isRecovery ? 'off' : 'one-time-code'}
          maxLength={40}
          hint={isRecovery ? undefined : t.codeHint}
          isRequired
        />
        {failure !== null && (
          <p className="field-error" role="alert">
            {sayUndone(failure, texts)}
          </p>
        )}
        <ActionButton looks="primary" type="submit" isPending={busy}>
          {busy ? t.submitting : t.submit}
        </ActionButton>
        <ActionButton onPress={() => choose(!isRecovery)}>
          {isRecovery ? t.useApp : t.useRecovery}
        </ActionButton>
        <ActionButton looks="plain" onPress={() => onEnd(null)}>
          {t.back}
        </ActionButton>
      </Form>
    </main>
  )
}
