import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../api/client.ts'
import { Logo } from '../parts/logo.tsx'
import { ActionButton, Trouble } from '../parts/parts.tsx'
import { useUnsaved } from '../parts/unsaved.ts'
import { secondFactorTexts as de } from '../texts/de/second-factor.ts'
import { secondFactorTexts as en } from '../texts/en/second-factor.ts'
import { useOwnTexts, useTexts } from '../texts/texts.tsx'
import { RecoveryCodes, SecondFactorSetup } from './second-factor-setup.tsx'
import { signOut, useSwitchTo } from './session-actions.ts'

const TEXTS = { en, de }

/** Where somebody lands whose organization demands a second factor: to set one up, or to go elsewhere. */
export default function SecondFactorPage({ onDone }: { onDone: () => void }) {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const [codes, setCodes] = useState<string[]>()
  const letGo = useUnsaved(codes !== undefined, 'shown')
  const mine = useQuery({
    queryKey: ['my-organizations'],
    queryFn: async () => (await answered(api.GET('/api/v3/auth/my-organizations'))).data,
  })
  const { mutate: switchTo, error } = useSwitchTo()
  const here = mine.data?.find(one => one.isCurrent)?.organizationName ?? t.thisOrganization
  return (
    <main className="sign-in" id="content">
      <title>{`${t.title} · ${texts.product}`}</title>
      <div className="factor-page">
        <h1>
          <Logo />
          {codes ? t.codes : t.demanded(here)}
        </h1>
        {codes ? (
          <>
            <RecoveryCodes codes={codes} />
            <ActionButton
              looks="primary"
              onPress={() => {
                letGo()
                onDone()
              }}
            >
              {t.kept}
            </ActionButton>
          </>
        ) : (
          <>
            <p>{t.demandedLead}</p>
            <SecondFactorSetup onCodes={setCodes} />
            {error && <Trouble error={error} isDeed />}
            {mine.data
              ?.filter(one => !one.isCurrent)
              .map(one => (
                <ActionButton key={one.organizationId} onPress={() => switchTo(one.organizationId)}>
                  {t.goTo(one.organizationName)}
                </ActionButton>
              ))}
            <ActionButton onPress={signOut}>{t.signOut}</ActionButton>
          </>
        )}
      </div>
    </main>
  )
}
