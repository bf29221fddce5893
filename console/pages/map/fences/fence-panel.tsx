import '../../../styles/fences.css'
import { useMemo } from 'react'
import { ToggleButton } from 'react-aria-components'
import { Link } from 'react-router'
import { useWorkspace } from '../../../api/workspace.ts'
import { useFleetVersion, useLive, useNow } from '../../../live/live.tsx'
import { useNames } from '../../../live/subject-names.ts'
import { createInside } from '../../../map/areas.ts'
import { useEscape, useLateHeading, useReturnFocus } from '../../../parts/focus.ts'
import { Icon } from '../../../parts/icon.tsx'
import { ActionButton, IconButton, Trouble } from '../../../parts/parts.tsx'
import { useShapeText } from '../../../shell/fence-hints.ts'
import { useFormat, useTexts } from '../../../texts/texts.tsx'
import { urls } from '../../../urls.ts'
import { usePlaces } from '../../places.ts'
import { useHubs } from '../subject-queries.ts'
import { type Fence, useFenceEvents } from './fence-queries.ts'

const COUNT_EVERY_MS = 1_000

interface Props {
  fence: Fence
  /** Whether the list is filtered by this geofence. */
  isArea: boolean
  /** Whether it was just edited: the focus returns to the edit button. */
  isBack: boolean
  onArea: (wanted: boolean) => void
  onEdit: () => void
  onClose: () => void
}

/** A geofence, the subjects inside of it, and its recent events. */
export default function FencePanel({ fence, isArea, isBack, onArea, onEdit, onClose }: Props) {
  const texts = useTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const { fleet } = useLive()
  const { data: hubs } = useHubs()
  const version = useFleetVersion(fleet, COUNT_EVERY_MS)
  const isInside = useMemo(() => createInside(fence.shape), [fence.shape])
  const inside = useMemo(() => {
    // The fleet changes in place, and the version tells when.
    void version
    const { lat, lng } = fleet.columns
    return fleet.ids.filter((_, slot) => isInside({ lat: lat[slot] as number, lng: lng[slot] as number }))
  }, [fleet, version, isInside])
  useReturnFocus()
  useLateHeading()
  useEscape(onClose)
  const { shape } = fence
  const sayShape = useShapeText()
  const hub = hubs?.find(({ _id }) => _id === fence.hubId)
  const t = texts.fences
  return (
    <aside className="panel" aria-label={fence.name}>
      <header className="panel-head">
        <h2 title={fence.name}>{fence.name}</h2>
        <IconButton icon="close" label={texts.subject.close} onPress={onClose} />
      </header>
      <dl className="facts">
        <div>
          <dt>{t.shape}</dt>
          <dd>{sayShape(shape)}</dd>
        </div>
        <div>
          <dt>{texts.subject.hub}</dt>
          <dd>{hub?.name ?? texts.subject.none}</dd>
        </div>
        <div>
          <dt>{t.inside}</dt>
          <dd>{format.count(inside.length)}</dd>
        </div>
      </dl>
      <div className="panel-actions">
        <ToggleButton className="button plain" isSelected={isArea} onChange={onArea}>
          {t.listInside}
        </ToggleButton>
        {may('update/geofence') && (
          <ActionButton autoFocus={isBack} onPress={onEdit}>
            {t.change}
          </ActionButton>
        )}
      </div>
      <Events fence={fence} />
    </aside>
  )
}

const AGES_EVERY_MS = 10_000

function Events({ fence }: { fence: Fence }) {
  const { fences: t } = useTexts()
  const format = useFormat()
  const now = useNow(AGES_EVERY_MS)
  const { data: events, error, refetch } = useFenceEvents(fence._id)
  const crossed = useMemo(
    () => [
      ...new Map(events?.map(one => [one.subjectId, { type: one.subjectType, id: one.subjectId }])).values(),
    ],
    [events],
  )
  const names = useNames(crossed)
  const placeOf = usePlaces(events ?? [])
  const nameOf = (id: string) => names[crossed.findIndex(one => one.id === id)] ?? t.somebody
  return (
    <section className="today">
      <h3>{t.events}</h3>
      {error && <Trouble error={error} onRetry={() => void refetch()} />}
      {events?.length === 0 && <p className="hint">{t.noEvents}</p>}
      {events && events.length > 0 && (
        <ul className="crossings" aria-label={t.events}>
          {events.map(({ _id, subjectId, subjectType, event, at, lat, lng, retracted }) => {
            const name = nameOf(subjectId)
            return (
              <li key={_id} className={retracted ? 'retracted' : undefined}>
                <span className={`crossing ${event}`} aria-hidden="true" />
                <span className="crossing-what">
                  {retracted ? t.retracted(t[event](name)) : t[event](name)}
                  <span className="hint">
                    {[format.ago(Date.parse(at), now), format.dateTime(at), placeOf({ lat, lng })?.name]
                      .filter(Boolean)
                      .join(' · ')}
                  </span>
                </span>
                <Link
                  className="button quiet square"
                  aria-label={t.playbackOf(t[event](name))}
                  to={urls.playbackAt(subjectType, subjectId, format.dateOf(Date.parse(at)), at)}
                >
                  <Icon name="history" />
                </Link>
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}
