import { type ReactNode, useEffect, useMemo, useRef } from 'react'
import { Button } from 'react-aria-components'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { TRIP_FROM_M } from '../map/subject-queries.ts'
import { usePlaces } from '../places.ts'
import type { Span } from './address.ts'
import type { PlayedSubject } from './played-subject.ts'
import { type Player, usePlayerTime } from './player.ts'
import { usePlaybackTexts } from './texts.ts'
import type { Trips } from './track-queries.ts'
import { momentAt } from './tracks.ts'

const SECOND_MS = 1_000

/** A trip or a stop. */
interface Part {
  from: number
  to: number
  trip: Trips['trips'][number] | null
  /** Where it begins, and where a trip ends. */
  places: { lat: number; lng: number }[]
}

export function partsOf(trips: Trips | undefined): Part[] {
  if (!trips) return []
  const parts = [
    ...trips.trips.map(trip => ({ ...toTimes(trip), trip, places: [trip.start, trip.end] })),
    ...trips.stops.map(stop => ({ ...toTimes(stop), trip: null, places: [stop] })),
  ]
  return parts.sort((a, b) => a.from - b.from)
}

const toTimes = ({ startTime, endTime }: { startTime: string; endTime: string }) => ({
  from: Date.parse(startTime),
  to: Date.parse(endTime),
})

/** Trips and stops under the chart, at their times. The list has the same information as text. */
export function Strips({ shown, span }: { shown: readonly PlayedSubject[]; span: Span }) {
  const share = (ms: number) => `${(ms / (span.to - span.from)) * 100}%`
  return (
    <div className="strips" aria-hidden="true">
      {shown.map(({ key, color, trips }) => (
        <div className={`strip track-${color + 1}`} key={key}>
          {partsOf(trips).map(({ from, to, trip }) => (
            <span
              key={`${from}${trip ? 'trip' : 'stop'}`}
              className={trip ? 'strip-trip' : 'strip-stop'}
              style={{ left: share(from - span.from), width: share(to - from) }}
            />
          ))}
        </div>
      ))}
    </div>
  )
}

/** The day of one subject: totals, the current state, and its trips and stops. */
export function DayList(props: { one: PlayedSubject; player: Player; isAlone: boolean }) {
  const { one, player, isAlone } = props
  const t = usePlaybackTexts()
  const { subject: words } = useTexts()
  const format = useFormat()
  usePlayerTime(player, SECOND_MS)
  const { time } = player
  const parts = useMemo(() => partsOf(one.trips), [one.trips])
  const findPlace = usePlaces(parts.flatMap(({ places }) => places))
  const moment = momentAt(one.track, time)
  const current = parts.findLastIndex(({ from, to }) => from <= time && time <= to + SECOND_MS)
  /** "Main Street, Springfield", or of a trip "Main Street → Park Road" */
  const sayWhere = (places: Part['places']) => {
    const found = places.map(findPlace)
    if (found.includes(null)) return ''
    if (found.length === 1) return found[0]?.name ?? ''
    return found.map(place => place?.street ?? place?.name).join(' → ')
  }
  const trips = one.trips?.trips ?? []
  const sayNow = (speed: number) => (Number.isNaN(speed) ? words.none : format.speed(speed))
  const distance = trips.reduce((sum, trip) => sum + trip.distance, 0)
  const driving = trips.reduce((sum, trip) => sum + trip.duration, 0)
  return (
    <section className={`day track-${one.color + 1}`} aria-label={one.name}>
      <h2>
        <span className="track-dot" aria-hidden="true" />
        <span className="day-name">{one.name}</span>
        <span className="day-now">
          {moment?.known ? sayNow(moment.speed) : moment ? t.unknown : t.notYet}
        </span>
      </h2>
      {one.trips && parts.length === 0 && <p className="hint">{t.noTrips(format.distance(TRIP_FROM_M))}</p>}
      {parts.length > 0 && (
        <>
          <p className="hint">
            {format.distance(distance)} · {format.duration(driving)} ·{' '}
            {t.sums(trips.length, parts.length - trips.length)}
          </p>
          <ol className="parts" aria-label={t.parts}>
            {parts.map(({ from, to, trip, places }, index) => (
              <Entry
                key={`${from}${trip ? 'trip' : 'stop'}`}
                isCurrent={index === current}
                isFollowed={isAlone}
                onGo={() => player.seek(from)}
              >
                <span className={trip ? 'part-mark trip' : 'part-mark'} aria-hidden="true" />
                <span className="part-name">{trip ? t.trip : t.stop}</span>
                <span className="part-times">
                  {format.clock(from)} – {format.clock(to)}
                </span>
                {sayWhere(places) !== '' && <span className="part-where">{sayWhere(places)}</span>}
                <span className="part-facts">
                  {trip
                    ? `${format.distance(trip.distance)} · ${format.duration(trip.duration)} · ${t.max(format.speed(trip.maxSpeed))}`
                    : format.duration((to - from) / SECOND_MS)}
                </span>
              </Entry>
            ))}
          </ol>
        </>
      )}
    </section>
  )
}

interface EntryProps {
  isCurrent: boolean
  /** Whether the list scrolls along. */
  isFollowed: boolean
  onGo: () => void
  children: ReactNode
}

function Entry({ isCurrent, isFollowed, onGo, children }: EntryProps) {
  const entry = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isCurrent && isFollowed && entry.current) scrollListTo(entry.current)
  }, [isCurrent, isFollowed])
  return (
    <li ref={entry}>
      <Button className="part" aria-current={isCurrent ? 'true' : undefined} onPress={onGo}>
        {children}
      </Button>
    </li>
  )
}

/** The list scrolls along during playback; a page that scrolls as a whole does not. */
function scrollListTo(entry: HTMLElement): void {
  const list = entry.closest('.playback-days')
  if (!list || list.scrollHeight <= list.clientHeight) return
  const [inner, outer] = [entry.getBoundingClientRect(), list.getBoundingClientRect()]
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom
}
