import { useState } from 'react'
import { Link } from 'react-router'
import type { components } from '../../api/interface.d.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { ChooseRecord } from '../../parts/choose-record.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { useName } from '../../parts/records.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import { type Device, useDiagnosis } from './device-queries.ts'
import { useDeviceTexts } from './texts.ts'

type Cause = components['schemas']['DeviceCause']

/** Causes that are mended in the tracker, with the values of the setup. */
const SETS_UP: ReadonlySet<string> = new Set([
  ...['wrong-key', 'replaced-key', 'other-key', 'wrong-name', 'wrong-topic', 'wrong-will'],
  ...['certificate-expired', 'never-connected', 'not-json', 'bad-shape'],
])

/** Why the device is not on somebody's map, asked again while the page is open. */
export function Diagnosis({ device, onSetup }: { device: Device; onSetup: () => void }) {
  const t = useDeviceTexts()
  const texts = useTexts()
  const { may } = useWorkspace()
  const [userId, setUserId] = useState('')
  const name = useName('users', userId)
  const diagnosis = useDiagnosis(device._id, userId)
  const { isOnMap, causes = [] } = diagnosis.data ?? {}
  return (
    <section className="card diagnosis" aria-label={t.map}>
      <header className="card-head">
        <h2>{causes.length > 0 && !isOnMap ? t.notOnMap : t.map}</h2>
        {may('view/user') && (
          <ChooseRecord
            compact
            kind="users"
            label={t.whose}
            none={t.mine}
            value={userId}
            onChange={setUserId}
          />
        )}
      </header>
      {diagnosis.error && <Trouble error={diagnosis.error} onRetry={() => void diagnosis.refetch()} />}
      <div role="status">
        {isOnMap && (
          <p className="verdict good">
            <Icon name="check" />
            {userId === '' ? t.onMap : t.onMapFor(name)}
            {may('view/location') && <Link to={urls.subject(device._id)}>{texts.setup.show}</Link>}
          </p>
        )}
        {causes.length > 0 && (
          <ol className="causes">
            {causes.map((cause, index) => (
              <CauseItem key={cause.cause} cause={cause} isFirst={index === 0} onSetup={onSetup} />
            ))}
          </ol>
        )}
        {!diagnosis.data && !diagnosis.error && <p className="hint loading">{texts.loading}</p>}
      </div>
    </section>
  )
}

function CauseItem(props: { cause: Cause; isFirst: boolean; onSetup: () => void }) {
  const { cause, isFirst, onSetup } = props
  const t = useDeviceTexts()
  const format = useFormat()
  const { at, count, address, detail, payload } = cause
  const [title, advice] = t.causes[cause.cause]
  const facts = [
    count === null ? '' : t.times(count, format.count(count)),
    at === null ? '' : t.lastAt(format.sinceSeconds(Date.parse(at))),
    address === null ? '' : t.from(address),
  ].filter(fact => fact !== '')
  return (
    <li className={isFirst ? 'cause first' : 'cause'}>
      <h3>{title}</h3>
      <p>{advice}</p>
      {facts.length > 0 && <p className="hint">{facts.join(', ')}</p>}
      {detail && <code className="evidence">{detail}</code>}
      {payload && <code className="evidence">{payload}</code>}
      {isFirst && SETS_UP.has(cause.cause) && <ActionButton onPress={onSetup}>{t.openSetup}</ActionButton>}
    </li>
  )
}
