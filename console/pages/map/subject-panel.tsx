import { type ReactNode, Suspense, useState } from 'react'
import { ToggleButton } from 'react-aria-components'
import { Link } from 'react-router'
import { isMissing } from '../../api/failure.ts'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { useFleetVersion, useLive, useNow } from '../../live/live.tsx'
import type { Position } from '../../live/packed.ts'
import { MAX_LAT } from '../../map/mercator.ts'
import { useEscape, useReturnFocus } from '../../parts/focus.ts'
import { Icon, StateMark } from '../../parts/icon.tsx'
import { ActionButton, Copyable, IconButton } from '../../parts/parts.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import { hasWords, usePlace } from '../places.ts'
import { hasFallenSilent, readSpeed } from './speed.ts'
import { TRIP_FROM_M, useHubs, useSubjectRecords, useToday } from './subject-queries.ts'
import { useWork } from './subject-work.ts'

const Absent = lazyWithRetry(() => import('./absent.tsx'))
const WorkLink = lazyWithRetry(() => import('./work-link.tsx'))
const ShareDialog = lazyWithRetry(() => import('../share-dialog.tsx'))

interface Props {
  subjectId: string
  /** Whether the subject stays selected for a moment: then its records and its day are read. */
  isDebounced: boolean
  follow: boolean
  onFollow: (follow: boolean) => void
  onClose: () => void
  /** Whether the server filters subjects. */
  isFiltered: boolean
  onClearFilters: () => void
}

/** The panel of one subject, updated live. */
export function SubjectPanel({
  subjectId,
  isDebounced,
  follow,
  onFollow,
  onClose,
  isFiltered,
  onClearFilters,
}: Props) {
  const texts = useTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const { fleet, state } = useLive()
  const [sharing, setSharing] = useState(false)
  useFleetVersion(fleet, 250)
  const now = useNow(1_000)
  useReturnFocus()
  useEscape(onClose)
  const position = fleet.find(subjectId)
  const fixedAt = position ? Date.parse(position.timestamp) : 0
  const speed = position ? readSpeed(position) : null
  const isAway = state.name === 'offline'
  const { data: records, error } = useSubjectRecords(subjectId, isDebounced)
  const hub = useHubs().data?.find(one => one._id === records?.hubId)
  const task = useWork(subjectId)?.task
  const t = texts.subject
  const name =
    position?.name ??
    records?.vehicle?.name ??
    records?.device?.name ??
    records?.user?.name ??
    (isMissing(error) ? texts.map.goneTitle : state.name === 'forbidden' && records ? t.position : '')

  return (
    <aside className="panel" aria-label={name || t.position}>
      <header className="panel-head">
        {position && <StateMark state={position.state} />}
        <h2 title={name}>{name}</h2>
        <IconButton icon="close" label={t.close} onPress={onClose} />
      </header>
      {!position && (error || records) && (
        <Suspense>
          <Absent
            error={error}
            device={records?.device ?? null}
            user={records?.user ?? null}
            isFiltered={isFiltered}
            onClearFilters={onClearFilters}
          />
        </Suspense>
      )}
      {position && (
        <>
          <p className={isAway ? 'panel-state past' : 'panel-state'}>
            {!isAway && hasFallenSilent(position)
              ? texts.map.silentFor(format.duration((now - fixedAt) / 1_000))
              : texts.states[position.state]}
            {speed !== null && position.state === 'moving' && <b>{format.speed(speed)}</b>}
            <span className="hint">
              {isAway ? t.asOf(format.sinceSeconds(fixedAt)) : format.ago(fixedAt, now)}
            </span>
          </p>
          {/* What comes later stands below: a button that moves under a press is missed. */}
          <div className="panel-actions">
            <ToggleButton className="button plain" isSelected={follow} onChange={onFollow}>
              <Icon name="follow" />
              {t.follow}
            </ToggleButton>
            {may('create/tracking-link') && (
              <ActionButton icon="share" onPress={() => setSharing(true)}>
                {t.share}
              </ActionButton>
            )}
          </div>
          <PlaybackLink {...{ subjectId, position }} />
          <Where {...{ position, isDebounced }} />
          <dl className="facts">
            <Fact term={t.speed}>{speed === null ? t.none : format.speed(speed)}</Fact>
            <Fact term={t.heading}>
              {position.heading === null
                ? t.none
                : `${Math.round(position.heading) % 360}° ${format.compass(position.heading)}`}
            </Fact>
            <Fact term={t.battery}>
              {position.battery === null ? t.none : format.percent(position.battery)}
            </Fact>
            <Fact term={t.accuracy}>
              {position.accuracy === null ? t.none : format.distance(position.accuracy)}
            </Fact>
            <Fact term={t.lastFix}>{format.sinceSeconds(fixedAt)}</Fact>
            <Fact term={t.position}>
              <Copyable value={`${position.lat.toFixed(6)}, ${position.lng.toFixed(6)}`} label={t.position}>
                {position.lat.toFixed(5)}, {position.lng.toFixed(5)}
              </Copyable>
            </Fact>
          </dl>
          {Math.abs(position.lat) > MAX_LAT && <p className="hint">{t.atEdge}</p>}
          {task && (
            <Suspense>
              <WorkLink task={task} />
            </Suspense>
          )}
          <Today {...{ subjectId, isDebounced, isAway, position }} />
          {records && (
            <dl className="facts wide">
              {records.vehicle && (
                <Fact term={t.vehicle}>
                  {records.vehicle.name}
                  {records.vehicle.plate && <span className="plate">{records.vehicle.plate}</span>}
                </Fact>
              )}
              {records.user && (
                <Fact term={position.subjectType === 'user' ? t.person : t.driver}>{records.user.name}</Fact>
              )}
              {records.device && <Fact term={t.device}>{records.device.name}</Fact>}
              {hub && (
                <Fact term={t.hub}>
                  {hub.name}
                  {hub.address && <span className="hint"> {hub.address}</span>}
                </Fact>
              )}
            </dl>
          )}
        </>
      )}
      {sharing && position && (
        <Suspense>
          <ShareDialog subject={position} onClose={() => setSharing(false)} />
        </Suspense>
      )}
    </aside>
  )
}

function Where({ position, isDebounced }: { position: Position; isDebounced: boolean }) {
  const words = usePlace(position.subjectId, position, isDebounced)
  // Its line is kept for words that are about to come.
  return hasWords() ? <p className="panel-where">{words}</p> : null
}

/** A subject without positions today offers its last day instead. */
function PlaybackLink({ subjectId, position }: { subjectId: string; position: Position }) {
  const { subject: t } = useTexts()
  const format = useFormat()
  const fixedAt = Date.parse(position.timestamp)
  const lastDay = fixedAt >= format.startOfDay() ? undefined : format.dateOf(fixedAt)
  return (
    <Link className="button plain" to={urls.playbackOf(position.subjectType, subjectId, lastDay)}>
      <Icon name="history" />
      {lastDay === undefined ? t.playback : t.playbackOf(format.longDate(lastDay))}
    </Link>
  )
}

function Today(props: Pick<Props, 'subjectId' | 'isDebounced'> & { isAway: boolean; position: Position }) {
  const { subjectId, isDebounced, isAway, position } = props
  const { subject: t } = useTexts()
  const format = useFormat()
  const { data: today } = useToday(subjectId, isDebounced)
  if (!today) return isAway ? <p className="hint">{t.comesLater}</p> : null
  const isToday = Date.parse(position.timestamp) >= format.startOfDay()
  const distance = today.trips.reduce((sum, trip) => sum + trip.distance, 0)
  const driving = today.trips.reduce((sum, trip) => sum + trip.duration, 0)
  const fastest = Math.max(0, ...today.trips.map(trip => trip.maxSpeed))
  return (
    <section className="today">
      <h3>{t.today}</h3>
      {today.trips.length + today.stops.length === 0 ? (
        <p className="hint">{isToday ? t.justBegun(format.distance(TRIP_FROM_M)) : t.noTrail}</p>
      ) : (
        <dl className="facts">
          <Fact term={t.distance}>{format.distance(distance)}</Fact>
          <Fact term={t.driving}>{format.duration(driving)}</Fact>
          <Fact term={t.stops}>{format.count(today.stops.length)}</Fact>
          <Fact term={t.maxSpeed}>{format.speed(fastest)}</Fact>
        </dl>
      )}
    </section>
  )
}

function Fact({ term, children }: { term: string; children: ReactNode }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  )
}
