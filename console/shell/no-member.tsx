import { openOrganizationTexts as de } from '../texts/de/open-organization.ts'
import { openOrganizationTexts as en } from '../texts/en/open-organization.ts'
import { useOwnTexts } from '../texts/texts.tsx'

const TEXTS = { en, de }

/** The account that signs in is no member of the organization of the address. */
export default function NoMember() {
  const t = useOwnTexts(TEXTS)
  return (
    <p className="field-error" role="alert">
      {t.noMember} {t.signInElsewhere}
    </p>
  )
}
