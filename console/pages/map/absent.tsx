import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { Link } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { isMissing } from '../../api/failure.ts'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { useLive } from '../../live/live.tsx'
import { MissingRecord } from '../../parts/missing-record.tsx'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'

interface Subject {
  type: 'device' | 'user'
  id: string
}

const SetupDialog = lazyWithRetry(() => import('../setup-dialog.tsx'))

/** The reason why a subject is not on the map, and the next step. */
export default function Absent(props: {
  error: unknown
  device: { _id: string; name: string; lastSeenAt: string | null } | null
  user: { _id: string } | null
  isFiltered: boolean
  onClearFilters: () => void
}) {
  const { error, device, user, isFiltered, onClearFilters } = props
  const { live, map, kinds, records, nav, subject: t } = useTexts()
  const { state } = useLive()
  const { may } = useWorkspace()
  const [isSetUp, setSetUp] = useState(false)
  const format = useFormat()
  const subject: Subject | null = device
    ? { type: 'device', id: device._id }
    : user && { type: 'user', id: user._id }
  const anomaly = useNewestAnomaly(subject)
  if (isMissing(error)) return <MissingRecord>{records.missing}</MissingRecord>
  if (error) return <Trouble error={error} />
  if (state.name === 'forbidden') {
    return (
      <>
        <p>{live.forbidden}</p>
        {device && (
          <Link className="button plain" to={urls.record('devices', device._id)}>
            {t.device}
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
  if (subject && anomaly) {
    return (
      <>
        <p>{map.allWrong(format.ago(Date.parse(anomaly.timestamp)))}</p>
        <Link
          className="button plain"
          to={urls.anomaliesOf(subject.type, subject.id, format.dateOf(Date.parse(anomaly.timestamp)))}
        >
          {map.lookAtThem}
        </Link>
      </>
    )
  }
  if (!device || device.lastSeenAt !== null) return <p>{map.notShown}</p>
  return (
    <>
      <p>{map.neverSent}</p>
      <div className="panel-actions">
        <ActionButton onPress={() => setSetUp(true)}>{kinds.devices.setup}</ActionButton>
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

/** A subject that is not on the map may have sent positions that are all anomalies. */
function useNewestAnomaly(subject: Subject | null) {
  const { may } = useWorkspace()
  const { data } = useQuery({
    queryKey: ['anomaly', subject?.id],
    enabled: subject !== null && may('view/location'),
    queryFn: async ({ signal }) => {
      const query = {
        [subject?.type === 'user' ? 'userId' : 'deviceId']: subject?.id,
        includeAnomalies: 'true',
        order: 'desc',
        limit: 1,
      } as const
      const answer = await answered(api.GET('/api/v3/location-histories', { params: { query }, signal }))
      const newest = typeof answer === 'string' ? undefined : answer.data[0]
      return newest?.anomaly ? newest : null
    },
  })
  return data
}
