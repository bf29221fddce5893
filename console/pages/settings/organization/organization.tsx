import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { lazyWithRetry } from '../../../api/lazy-with-retry.ts'
import { useWorkspace } from '../../../api/workspace.ts'
import { ActionButton, Trouble } from '../../../parts/parts.tsx'
import { organizationTexts as de } from '../../../texts/de/organization.ts'
import { organizationTexts as en } from '../../../texts/en/organization.ts'
import { useOwnTexts, useTexts } from '../../../texts/texts.tsx'
import { SampleNote, SampleOffer, useIsSampleRead } from '../../map/sample-data.tsx'
import { EndOrganization } from './end-organization.tsx'
import { Organizations } from './organizations.tsx'
import { ORGANIZATION, readOrganization } from './query.ts'
import { SecondFactorDemand } from './second-factor-demand.tsx'
import { OrganizationForm } from './settings-form.tsx'

const TEXTS = { en, de }
const BasemapDialog = lazyWithRetry(() => import('../../map/basemap-dialog.tsx'))

/** The organization's own settings, and the account's other organizations. */
export default function OrganizationSettings() {
  const texts = useTexts()
  const { may } = useWorkspace()
  const [saves, setSaves] = useState(0)
  const isSampleRead = useIsSampleRead()
  const found = useQuery({ queryKey: ORGANIZATION, queryFn: readOrganization })
  if (found.error && !found.data) return <Trouble error={found.error} onRetry={() => void found.refetch()} />
  if (!found.data) return <p className="hint">{texts.loading}</p>
  return (
    <div className="sheets">
      {/* The form begins again with what was saved. */}
      <OrganizationForm
        key={saves}
        organization={found.data}
        wasSaved={saves > 0}
        onSaved={() => setSaves(saves + 1)}
      />
      <div className="stack">
        <Organizations />
        {may('update/organization') && <SecondFactorDemand organization={found.data} />}
        {may('update/organization') && <MapAndSamples />}
        {/* Last, and in its place: a press for what is above must not delete. */}
        {isSampleRead && may('delete/organization') && <EndOrganization name={found.data.name} />}
      </div>
    </div>
  )
}

function MapAndSamples() {
  const t = useOwnTexts(TEXTS)
  const [isChoosing, setChoosing] = useState(false)
  return (
    <section className="sheet stack" aria-labelledby="map-settings">
      <h2 id="map-settings">{t.map}</h2>
      <div className="row-of-buttons">
        <ActionButton icon="map" onPress={() => setChoosing(true)}>
          {t.streets}
        </ActionButton>
      </div>
      {isChoosing && (
        <Suspense>
          <BasemapDialog onClose={() => setChoosing(false)} />
        </Suspense>
      )}
      <SampleOffer />
      <SampleNote />
    </section>
  )
}
