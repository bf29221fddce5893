import { Suspense, useState } from 'react'
import { Link } from 'react-router'
import { isMissing } from '../../api/failure.ts'
import { useLive } from '../../live/live.tsx'
import { Missing } from '../../parts/missing.tsx'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { part } from '../../parts/patient.ts'
import { useWorkspace } from '../../shell/workspace.tsx'
import { useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'

const SetupDialog = part(() => import('../setup-dialog.tsx'))

/** Why somebody is not on the map, and what to do about it. */
export default function Absent(props: {
  error: unknown
  device: { _id: string; name: string; lastSeenAt: string | null } | null
  isFiltered: boolean
  onClearFilters: () => void
}) {
  const { error, device, isFiltered, onClearFilters } = props
  const { live, map, records, nav, subject } = useTexts()
  const { state } = useLive()
  const { may } = useWorkspace()
  const [isSetUp, setSetUp] = useState(false)
  if (isMissing(error)) return <Missing>{records.missing}</Missing>
  if (error) return <Trouble error={error} />
  if (state.name === 'forbidden') {
    return (
      <>
        <p>{live.forbidden}</p>
        {device && (
          <Link className="button plain" to={`${urls.devices}/${device._id}`}>
            {subject.device}
          </Link>
        )}
      </>
    )
  }
  if (isFiltered && device?.lastSeenAt !== null) {
    return (
      <>
        <p>{map.hidden}</p>
        <ActionButton onPress={onClearFilters}>{map.clearFilters}</ActionButton>
      </>
    )
  }
  if (!device || device.lastSeenAt !== null) return <p>{map.notShown}</p>
  return (
    <>
      <p>{map.neverSent}</p>
      <div className="panel-actions">
        <ActionButton onPress={() => setSetUp(true)}>{records.devices.setup}</ActionButton>
        {may('view/device') && (
          <Link className="button plain" to={urls.rejectionsOf(device._id)}>
            {nav.rejections}
          </Link>
        )}
      </div>
      {isSetUp && (
        <Suspense>
          <SetupDialog device={device} onClose={() => setSetUp(false)} />
        </Suspense>
      )}
    </>
  )
}
