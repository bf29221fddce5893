import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { endSession, getSession, leaveSession, onSession, startSession } from '../session.ts'
import { referenceTexts as t } from '../texts/reference.ts'
import { useTexts } from '../texts/texts.tsx'

export interface Account {
  token: string
  /** Null until the server has answered. */
  name: string | null
  permissions: ReadonlySet<string>
}

const NOBODY: ReadonlySet<string> = new Set()

/** The account of the console's session, which all tabs share. */
export function useAccount(): Account | null {
  const session = useSyncExternalStore(onSession, getSession)
  const [found, setFound] = useState<Account | null>(null)
  const token = session?.token
  useEffect(() => {
    if (!token) return
    const read = async () => {
      const answer = await fetch('/api/v3/user', { headers: { authorization: `Bearer ${token}` } })
      if (answer.status === 401) return endSession(token)
      if (!answer.ok) return
      const { data } = (await answer.json()) as {
        data: { email: string; permissionDetails: { permissionName: string }[] }
      }
      const permissions = new Set(data.permissionDetails.map(({ permissionName }) => permissionName))
      setFound({ token, name: data.email, permissions })
    }
    // Without an answer the token is used all the same: the requests themselves show an error.
    read().catch(() => {})
  }, [token])
  if (!token) return null
  return found?.token === token ? found : { token, name: null, permissions: NOBODY }
}

export function AccountBox({ account }: { account: Account | null }) {
  const { account: words, signIn } = useTexts()
  const dialog = useRef<HTMLDialogElement>(null)
  if (account) {
    return (
      <div className="account-box">
        <p>{account.name === null ? t.signedIn : t.signedInAs(account.name)}</p>
        <button type="button" className="button quiet" onClick={() => leaveSession(account.token)}>
          {words.signOut}
        </button>
      </div>
    )
  }
  return (
    <div className="account-box">
      <p className="hint">{t.signInLead}</p>
      <button type="button" className="button primary" onClick={() => dialog.current?.showModal()}>
        {signIn.submit}
      </button>
      <dialog ref={dialog} aria-labelledby="sign-in-title">
        <SignInForm onCancel={() => dialog.current?.close()} />
      </dialog>
    </div>
  )
}

function SignInForm({ onCancel }: { onCancel: () => void }) {
  const { signIn: t, form, errors } = useTexts()
  const [failure, setFailure] = useState('')
  const [isBusy, setBusy] = useState(false)
  const send = async (fields: FormData) => {
    setBusy(true)
    setFailure('')
    try {
      const answer = await fetch('/api/v3/auth/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: fields.get('email'), password: fields.get('password') }),
      })
      const body = (await answer.json()) as {
        token: string
        expires_in: number
        data: { email: string }
        message: string
      }
      if (answer.ok) return startSession(body)
      setFailure(body.message)
    } catch {
      setFailure(errors.unreachable)
    }
    setBusy(false)
  }
  return (
    <form
      className="stack"
      onSubmit={event => {
        event.preventDefault()
        void send(new FormData(event.currentTarget))
      }}
    >
      <h2 id="sign-in-title">{t.title}</h2>
      <label className="field">
        <span>{t.email}</span>
        <input name="email" inputMode="email" autoComplete="username" required />
      </label>
      <label className="field">
        <span>{t.password}</span>
        <input name="password" type="password" autoComplete="current-password" required />
      </label>
      {failure && (
        <p className="field-error" role="alert">
          {failure}
        </p>
      )}
      <div className="row-of-buttons">
        <button type="submit" className="button primary" disabled={isBusy}>
          {isBusy ? t.submitting : t.submit}
        </button>
        <button type="button" className="button plain" onClick={onCancel}>
          {form.cancel}
        </button>
      </div>
    </form>
  )
}
