import { isAwaited } from '../../parts/awaited.ts'
import '../../styles/pages.css'
import '../../styles/table.css'
import '../../styles/device.css'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Suspense, useRef, useState } from 'react'
import { Link, useLocation, useNavigate } from 'react-router'
import { isMissing } from '../../api/failure.ts'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { serverNow } from '../../clock.ts'
import { useFleetVersion, useLive } from '../../live/live.tsx'
import { StateMark } from '../../parts/icon.tsx'
import { MissingRecord } from '../../parts/missing-record.tsx'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import SetupDialog from '../setup-dialog.tsx'
import ShareDialog from '../share-dialog.tsx'
import { DeviceSettings } from './device-form.tsx'
import { type Device, readDevice, useLinks, useMessages, useMounts } from './device-queries.ts'
import { Diagnosis } from './diagnosis.tsx'
import { useDeviceTexts } from './texts.ts'

/** The plots have a library of their own, and wait for the rest. */
const Activity = lazyWithRetry(() => import('./activity.tsx'))
const Commands = lazyWithRetry(() => import('./commands.tsx'))

const NAME_EVERY_MS = 1_000

/** The page of a device: why it is not on the map, how it does, its settings, and what it sends. */
export function DevicePage({ id }: { id: string }) {
  const texts = useTexts()
  const navigate = useNavigate()
  const { search } = useLocation()
  const back = { pathname: urls.list('devices'), search }
  const found = useQuery({ queryKey: ['devices', id], queryFn: () => readDevice(id) })
  const { title } = texts.kinds.devices
  if (found.data) return <Shown key={id} device={found.data} onClose={() => void navigate(back)} />
  return (
    <main className="page" id="content">
      <title>{`${title} · ${texts.product}`}</title>
      <header className="page-head">
        <h1>{title}</h1>
      </header>
      {!found.error && <p className="hint">{texts.loading}</p>}
      {found.error && isMissing(found.error) && <MissingRecord>{texts.records.missing}</MissingRecord>}
      {found.error && !isMissing(found.error) && (
        <Trouble error={found.error} onRetry={() => void found.refetch()} />
      )}
      {found.error && (
        <div className="row-of-buttons">
          <ActionButton icon="back" onPress={() => void navigate(back)}>
            {texts.records.backTo(title)}
          </ActionButton>
        </div>
      )}
    </main>
  )
}

function Shown({ device, onClose }: { device: Device; onClose: () => void }) {
  const texts = useTexts()
  const t = useDeviceTexts()
  const format = useFormat()
  const queries = useQueryClient()
  const { may, user } = useWorkspace()
  const seesAll = user.permissionDetails.some(
    ({ permissionName, scope }) => permissionName === 'view/location' && scope === 'all',
  )
  const { search } = useLocation()
  const { fleet } = useLive()
  useFleetVersion(fleet, NAME_EVERY_MS)
  const state = fleet.find(device._id)?.state
  const [setup, setSetup] = useState<{ key?: string } | null>(null)
  /** A saved form begins anew, with what is stored now. */
  const [turn, setTurn] = useState(0)
  const settings = useRef<HTMLHeadingElement>(null)
  const onSaved = async () => {
    await queries.refetchQueries({ queryKey: ['devices', device._id], exact: true })
    setTurn(turn + 1)
    settings.current?.focus()
  }
  return (
    <main className="page device-page" id="content">
      <title>{`${device.name} · ${texts.product}`}</title>
      <header className="page-head">
        <Link className="crumb" to={{ pathname: urls.list('devices'), search }}>
          {texts.kinds.devices.title}
        </Link>
        <h1>
          {state && <StateMark state={state} />}
          {device.name}
        </h1>
        <div className="end">
          <ActionButton onPress={() => setSetup({})}>{texts.kinds.devices.setup}</ActionButton>
          {may('view/location') && (
            <Link className="button plain" to={urls.subject(device._id)}>
              {texts.setup.show}
            </Link>
          )}
        </div>
        <p className="hint">
          {device.lastSeenAt ? t.seen(format.ago(Date.parse(device.lastSeenAt))) : t.neverSeen}
        </p>
      </header>
      <div className="device-columns">
        <div className="device-main in-turn">
          <Diagnosis device={device} onSetup={() => setSetup({})} />
          {seesAll && (
            <section className="card" aria-label={t.activity}>
              <h2>{t.activity}</h2>
              <p className="hint">{t.activityHint}</p>
              <Suspense fallback={<p className="hint loading">{texts.loading}</p>}>
                <Activity deviceId={device._id} />
              </Suspense>
            </section>
          )}
          <Messages device={device} />
        </div>
        <div className="device-side in-turn">
          <section className="card" aria-label={t.settings}>
            <h2 ref={settings} tabIndex={-1}>
              {t.settings}
            </h2>
            <p className="hint" role="status">
              {turn > 0 && t.saved}
            </p>
            <DeviceSettings
              key={turn}
              device={device}
              onClose={onClose}
              onSaved={() => void onSaved()}
              onKey={key => setSetup({ key })}
            />
          </section>
          <Links device={device} />
          {may('view/command') && (
            <section className="card" aria-label={t.commands}>
              <h2>{t.commands}</h2>
              <Suspense fallback={<p className="hint loading">{texts.loading}</p>}>
                <Commands deviceId={device._id} />
              </Suspense>
            </section>
          )}
          <Mounts device={device} />
        </div>
      </div>
      {setup && (
        <SetupDialog
          device={device}
          {...(setup.key !== undefined && { deviceKey: setup.key })}
          onClose={() => setSetup(null)}
        />
      )}
    </main>
  )
}

function Messages({ device }: { device: Device }) {
  const t = useDeviceTexts()
  const texts = useTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const seesPositions = may('view/location')
  const messages = useMessages(device._id, seesPositions)
  const outcomes = { stored: t.stored, anomaly: t.anomaly, rejected: texts.nav.rejections }
  return (
    <section className="card" aria-label={t.messages}>
      <header className="card-head">
        <h2>{t.messages}</h2>
        <Link to={urls.rejectionsOf(device._id)}>{texts.nav.rejections}</Link>
      </header>
      <p className="hint">{seesPositions ? t.messagesHint : t.noPositions}</p>
      {messages.error && <Trouble error={messages.error} onRetry={() => void messages.refetch()} />}
      {messages.data?.length === 0 && <p className="hint">{t.noMessages}</p>}
      {messages.data && messages.data.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
        <section className="table-box messages" tabIndex={0} aria-label={t.messages}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t.received}</th>
                <th scope="col">{t.outcome}</th>
                <th scope="col">{t.content}</th>
              </tr>
            </thead>
            <tbody>
              {messages.data.map(({ id, receivedAt, outcome, why, text }) => (
                <tr key={id}>
                  <td className="whole">{format.sinceSeconds(Date.parse(receivedAt))}</td>
                  <td className="whole">
                    <span className={`outcome ${outcome}`}>
                      {outcome === 'rejected' ? <span lang="en">{why}</span> : outcomes[outcome]}
                    </span>
                  </td>
                  <td className="whole">
                    <code>{text}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </section>
  )
}

function Mounts({ device }: { device: Device }) {
  const t = useDeviceTexts()
  const texts = useTexts()
  const format = useFormat()
  const mounts = useMounts(device._id)
  return (
    <section className="card" aria-label={t.mounts}>
      <h2>{t.mounts}</h2>
      {isAwaited(mounts) && <p className="hint loading">{texts.loading}</p>}
      {mounts.error && <Trouble error={mounts.error} onRetry={() => void mounts.refetch()} />}
      {mounts.data?.length === 0 && <p className="hint">{t.noMounts}</p>}
      <ul className="facts-list">
        {mounts.data?.map(({ vehicleId, vehicleName, mountedAt, unmountedAt }) => (
          <li key={mountedAt}>
            {vehicleId && vehicleName ? (
              <Link to={urls.record('vehicles', vehicleId)}>{vehicleName}</Link>
            ) : (
              t.deletedVehicle
            )}
            <span className="hint">
              {unmountedAt
                ? t.fromTo(format.dateTime(mountedAt), format.dateTime(unmountedAt))
                : t.sinceTime(format.dateTime(mountedAt))}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Links({ device }: { device: Device }) {
  const t = useDeviceTexts()
  const texts = useTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const [isSharing, setSharing] = useState(false)
  const isSeen = may('view/tracking-link') && may('view/location')
  const links = useLinks(device._id, isSeen)
  const open = links.data?.filter(link => Date.parse(link.expiresAt) > serverNow())
  if (!isSeen) return null
  const subject = { subjectId: device._id, subjectType: 'device', name: device.name } as const
  return (
    <section className="card" aria-label={t.links}>
      <header className="card-head">
        <h2>{t.links}</h2>
        {may('create/tracking-link') && (
          <ActionButton looks="quiet" icon="share" onPress={() => setSharing(true)}>
            {texts.subject.share}
          </ActionButton>
        )}
      </header>
      {isAwaited(links) && <p className="hint loading">{texts.loading}</p>}
      {links.error && <Trouble error={links.error} onRetry={() => void links.refetch()} />}
      {open?.length === 0 && <p className="hint">{t.noLinks}</p>}
      <ul className="facts-list">
        {open?.map(link => (
          <li key={link._id}>
            <Link to={urls.links}>{t.until(format.dateTime(link.expiresAt))}</Link>
          </li>
        ))}
      </ul>
      {isSharing && <ShareDialog subject={subject} onClose={() => setSharing(false)} />}
    </section>
  )
}
