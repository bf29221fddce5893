import { useState } from 'react'
import { useWorkspace } from '../../../api/workspace.ts'
import { ActionButton } from '../../../parts/parts.tsx'
import { useSwitchOrganization } from '../../../shell/session-actions.ts'
import { organizationTexts as de } from '../../../texts/de/organization.ts'
import { organizationTexts as en } from '../../../texts/en/organization.ts'
import { useOwnTexts } from '../../../texts/texts.tsx'
import { NewOrganization } from './new-organization.tsx'

const TEXTS = { en, de }

/** The account's organizations: switches to one, or creates another. */
export function Organizations() {
  const t = useOwnTexts(TEXTS)
  const { organizations, may } = useWorkspace()
  const change = useSwitchOrganization()
  const [isCreating, setCreating] = useState(false)
  return (
    <section className="sheet stack" aria-labelledby="organizations">
      <h2 id="organizations">{t.yours}</h2>
      <ul className="cards">
        {organizations.map(one => (
          <li key={one.organizationId}>
            <div>
              <strong>{one.organizationName}</strong>
              {one.isCurrent && <span className="tag">{t.here}</span>}
              <p className="hint">{one.roleName}</p>
            </div>
            {!one.isCurrent && (
              <ActionButton aria-label={t.switchToOf(one.organizationName)} onPress={() => change(one)}>
                {t.switchTo}
              </ActionButton>
            )}
          </li>
        ))}
      </ul>
      {may('create/organization') && (
        <div className="row-of-buttons">
          <ActionButton icon="plus" onPress={() => setCreating(true)}>
            {t.create}
          </ActionButton>
        </div>
      )}
      {isCreating && <NewOrganization onClose={() => setCreating(false)} />}
    </section>
  )
}
