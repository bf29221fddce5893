import { useEffect, useState } from 'react'
import { answered, api } from '../api/client.ts'
import { Failure, isMissing } from '../api/failure.ts'
import { Logo } from '../parts/logo.tsx'
import { ActionButton, Trouble } from '../parts/parts.tsx'
import { dropOther, enterOrganization, getOrganization, leaveSession, startSession } from '../session.ts'
import { openOrganizationTexts as de } from '../texts/de/open-organization.ts'
import { openOrganizationTexts as en } from '../texts/en/open-organization.ts'
import { useOwnTexts, useTexts } from '../texts/texts.tsx'

const TEXTS = { en, de }

/** Opens the organization of the address for whoever is signed in to another one, or says that the person is no member of it. */
export default function OpenOrganization({ token }: { token: string }) {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const [failure, setFailure] = useState<unknown>(null)
  const [round, setRound] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another round asks again
  useEffect(() => {
    let isCurrent = true
    setFailure(null)
    const body = { organizationId: getOrganization() ?? '' }
    const headers = { authorization: `Bearer ${token}` }
    answered(api.POST('/api/v3/auth/open-organization', { body, headers }))
      .then(answer => isCurrent && startSession(answer))
      .catch((error: unknown) => {
        if (!isCurrent) return
        if (error instanceof Failure && error.status === 401) dropOther(token)
        else setFailure(error)
      })
    return () => {
      isCurrent = false
    }
  }, [token, round])
  if (isMissing(failure)) {
    return (
      <main className="sign-in" id="content">
        <title>{`${t.noMember} · ${texts.product}`}</title>
        <div className="stack" role="alert">
          <h1>
            <Logo />
            {t.noMember}
          </h1>
          <p>{t.askForInvitation}</p>
          <ActionButton looks="primary" autoFocus onPress={() => enterOrganization(token)}>
            {t.toOwn}
          </ActionButton>
          <ActionButton onPress={() => leaveSession(token)}>{t.asAnother}</ActionButton>
        </div>
      </main>
    )
  }
  return (
    <main className="middle" id="content" aria-busy={failure === null}>
      {failure === null ? (
        <p className="hint">{t.opening}</p>
      ) : (
        <Trouble error={failure} onRetry={() => setRound(round + 1)} />
      )}
    </main>
  )
}
