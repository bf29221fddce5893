import { useState } from 'react'
import { answered, api } from '../api/client.ts'
import { Logo } from '../parts/logo.tsx'
import { ActionButton, sayUndone } from '../parts/parts.tsx'
import { discardHeld, readClaims, type Session, startSession } from '../session.ts'
import { useTexts } from '../texts/texts.tsx'

/** Shown when another tab has switched the organization while unsaved input waits for the previous one. */
export function OtherOrganization({ held }: { held: Session }) {
  const texts = useTexts()
  const [failure, setFailure] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const goBack = async () => {
    setBusy(true)
    setFailure(null)
    try {
      const body = { organizationId: readClaims(held).org }
      startSession(await answered(api.POST('/api/v3/auth/switch-organization', { body })))
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
  return (
    <main className="sign-in" id="content">
      <title>{texts.product}</title>
      <div className="stack" role="alert">
        <h1>
          <Logo />
          {texts.account.elsewhere}
        </h1>
        <p>{texts.account.waits}</p>
        {failure !== null && <p className="field-error">{sayUndone(failure, texts)}</p>}
        <ActionButton looks="primary" autoFocus isPending={busy} onPress={() => void goBack()}>
          {texts.account.back}
        </ActionButton>
        <ActionButton onPress={discardHeld}>{texts.form.leave}</ActionButton>
      </div>
    </main>
  )
}
