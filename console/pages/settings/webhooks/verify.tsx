import { useState } from 'react'
import { Choose, Copyable } from '../../../parts/parts.tsx'
import { webhookTexts as de } from '../../../texts/de/webhooks.ts'
import { webhookTexts as en } from '../../../texts/en/webhooks.ts'
import { useOwnTexts } from '../../../texts/texts.tsx'
import { VERIFY_CODE } from './verify-code.ts'

const TEXTS = { en, de }

/** The code with which a receiver verifies a signature. */
export function Verify() {
  const t = useOwnTexts(TEXTS)
  const [at, setAt] = useState('0')
  const code = VERIFY_CODE[Number(at)]?.code ?? ''
  return (
    <details className="more-fields">
      <summary>{t.verify}</summary>
      <div className="stack">
        <p className="hint">{t.verifyLead}</p>
        <Choose
          compact
          label={t.language}
          value={at}
          onChange={setAt}
          choices={VERIFY_CODE.map(({ language }, index) => ({ id: String(index), name: language }))}
        />
        <div className="code-block" lang="en">
          <Copyable value={code} label={t.code} />
        </div>
      </div>
    </details>
  )
}
