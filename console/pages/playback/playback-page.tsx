import '../../styles/setup.css'
import '../../styles/pages.css'
import '../../styles/playback.css'
import { useEffect, useMemo, useRef, useState } from 'react'
import { ToggleButton } from 'react-aria-components'
import { NavigationType, useLocation, useNavigationType } from 'react-router'
import { useWorkspace } from '../../api/workspace.ts'
import { serverNow } from '../../clock.ts'
import { useLive, useNow } from '../../live/live.tsx'
import { stepDay } from '../../parts/days.ts'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { type Change, keyOf, type PlaybackAddress, type Span, usePlaybackAddress } from './address.ts'
import { Chooser } from './chooser.tsx'
import { DayList, partsOf, Strips } from './day-list.tsx'
import { DayPicker } from './day-picker.tsx'
import { Downloads } from './downloads.tsx'
import type { PlayedSubject } from './played-subject.ts'
import { createPlayer, type Player } from './player.ts'
import { SpeedChart } from './speed-chart.tsx'
import { usePlaybackTexts } from './texts.ts'
import { TrackMap } from './track-map.tsx'
import { MAX_POINTS, useAnomalies, useChosenNames, useTracks, useTrips } from './track-queries.ts'
import { gapsOf } from './tracks.ts'
import { TimeSlider, Transport } from './transport.tsx'
import { useZoom, zoomInto } from './zoom.ts'

/** The chart begins and ends at multiples of this, so that the first and the last fix are not at its very edge. */
const ROUND_MS = 5 * 60_000
/** Browsers limit how often the address may change, so it does not follow every step of a slider. */
const SAVE_AFTER_MS = 500
/** A new day is noticed soon after it has begun. */
const DAY_NOTICED_MS = 20_000
/** The time to read the notice about a skipped gap. */
const SAID_FOR_MS = 5_000

export function Component() {
  const { nav, product } = useTexts()
  const t = usePlaybackTexts()
  const { may } = useWorkspace()
  if (may('view/location')) return <Playback />
  return (
    <main className="page" id="content">
      <title>{`${nav.playback} · ${product}`}</title>
      <header className="page-head">
        <h1>{nav.playback}</h1>
      </header>
      <p className="empty">{t.forbidden}</p>
    </main>
  )
}

/** Plays back the day of some subjects. */
function Playback() {
  const texts = useTexts()
  const format = useFormat()
  const { filter } = useLive()
  const [choice, change] = usePlaybackAddress(format.dateOf, useNow(DAY_NOTICED_MS))
  const { subjects, day } = choice
  const t = usePlaybackTexts()
  const wholeDay = useMemo<Span>(
    () => ({ from: format.startOf(day), to: format.startOf(stepDay(day, 1)) }),
    [day, format],
  )
  const goTo = (next: string | null) => change({ day: next, at: null, zoom: null })
  const player = useMemo(createPlayer, [])
  // The filters of the live map do not apply here.
  useEffect(() => filter([], []), [filter])

  const names = useChosenNames(subjects)
  const { loaded, isPending, error, retry } = useTracks(subjects, wholeDay)
  const { trips, error: tripsError, retry: retryTrips } = useTrips(subjects, wholeDay)
  const isEmpty =
    !isPending && !error && subjects.length > 0 && loaded.every(({ track }) => track.count === 0)
  // On a day without a track they tell whether all of its positions are anomalies.
  const anomalies = useAnomalies(subjects, wholeDay, choice.anomalies || isEmpty)
  const isWrong = isEmpty && anomalies.points.length > 0
  const shown = useMemo<PlayedSubject[]>(
    () =>
      subjects.flatMap((subject, color) => {
        const found = loaded.find(one => keyOf(one.subject) === keyOf(subject))
        if (!found) return []
        const { track } = found
        const name = names[color] as string
        return [{ key: `${keyOf(subject)} ${day}`, subject, name, color, track, trips: trips[color] }]
      }),
    [subjects, loaded, names, trips, day],
  )
  const moving = useMemo(() => shown.filter(({ track }) => track.count > 0), [shown])
  const span = useMemo(() => spanOf(moving), [moving])
  const gaps = useMemo(
    () =>
      span
        ? gapsOf(
            moving.map(({ track }) => track),
            span,
          )
        : [],
    [moving, span],
  )
  const begins = useMemo(() => beginsOf(moving), [moving])
  usePlayed(player, span, gaps, day, choice, change)
  const { view, zoom } = useZoom(span, player, choice.zoom, change)

  return (
    <main className="playback" id="content">
      <title>{`${texts.nav.playback} · ${texts.product}`}</title>
      <section className="playback-head" aria-label={t.chosen}>
        <h1>{texts.nav.playback}</h1>
        <Chooser subjects={subjects} onChange={next => change({ subjects: next })} />
        <DayPicker day={day} onChange={goTo} />
        <div role="status">
          {choice.isOver && (
            <p className="hint">
              {t.newDay}{' '}
              <ActionButton icon="next" onPress={() => goTo(null)}>
                {format.longDate(format.dateOf(serverNow()))}
              </ActionButton>
            </p>
          )}
        </div>
        {(span || isWrong) && (
          <div className="playback-options">
            <ToggleButton
              className="button plain"
              isSelected={choice.anomalies}
              onChange={wanted => change({ anomalies: wanted })}
            >
              {t.anomalies}
            </ToggleButton>
            <Downloads
              key={`${day} ${subjects.map(keyOf)}`}
              subjects={subjects}
              span={wholeDay}
              day={day}
              anomalies={choice.anomalies || isWrong}
            />
          </div>
        )}
        <Notes loaded={loaded.some(one => one.isReduced)} anomalies={anomalies} wanted={choice.anomalies} />
        {error && <Trouble error={error} onRetry={retry} />}
        {!error && tripsError && <Trouble error={tripsError} onRetry={retryTrips} />}
      </section>
      <div className="playback-stage">
        <div className="map-area">
          <TrackMap shown={moving} anomalies={choice.anomalies ? anomalies.points : []} player={player} />
          {isWrong ? (
            !choice.anomalies && (
              <div className="welcome" role="status">
                <h2>
                  {t.allWrong(format.count(anomalies.points.length), format.longDate(day), anomalies.isAll)}
                </h2>
                <p className="hint">{t.allWrongHint}</p>
                <div className="row-of-buttons">
                  <ActionButton icon="history" onPress={() => change({ anomalies: true })}>
                    {t.showThem}
                  </ActionButton>
                </div>
              </div>
            )
          ) : (
            <State
              choice={choice}
              day={day}
              isPending={isPending || (isEmpty && (anomalies.isPending || anomalies.error !== null))}
              shown={shown}
              onDay={goTo}
            />
          )}
          <Skipped player={player} />
        </div>
        {span && view && (
          <section className="dock" aria-label={texts.nav.playback}>
            <Transport
              player={player}
              begins={begins}
              zoom={zoom}
              rate={choice.rate}
              onRate={rate => change({ rate })}
            />
            <SpeedChart shown={moving} gaps={gaps} span={view} player={player} zoom={zoom} />
            <TimeSlider player={player} begins={begins} span={view} zoom={zoom} />
            <Strips shown={moving} span={view} />
          </section>
        )}
      </div>
      <div className="playback-days">
        {shown.map(one =>
          one.track.count > 0 ? (
            <DayList key={one.key} one={one} player={player} isAlone={shown.length === 1} />
          ) : (
            moving.length > 0 && (
              <p className={`day hint track-${one.color + 1}`} key={one.key}>
                {one.name}: {t.empty(format.longDate(day))}
              </p>
            )
          ),
        )}
      </div>
    </main>
  )
}

/** From the first fix of all subjects to the last. */
function spanOf(shown: readonly PlayedSubject[]): Span | null {
  if (shown.length === 0) return null
  const firsts = shown.map(({ track }) => track.times[0] as number)
  const lasts = shown.map(({ track }) => track.times[track.count - 1] as number)
  return {
    from: Math.floor(Math.min(...firsts) / ROUND_MS) * ROUND_MS,
    to: Math.ceil((Math.max(...lasts) + 1) / ROUND_MS) * ROUND_MS,
  }
}

/** The starts of all trips, in order. */
const beginsOf = (shown: readonly PlayedSubject[]): number[] =>
  shown
    .flatMap(({ trips }) => partsOf(trips))
    .flatMap(({ from, trip }) => (trip ? [from] : []))
    .sort((a, b) => a - b)

/** A new key whenever the back or the forward button was used. */
function useGoneTo(): string {
  const { key } = useLocation()
  const isGone = useNavigationType() === NavigationType.Pop
  const [goneTo, setGoneTo] = useState(key)
  if (isGone && goneTo !== key) setGoneTo(key)
  return goneTo
}

/** Sets the player to the time in the address, and writes its time into the address when it stands still. */
function usePlayed(
  player: Player,
  span: Span | null,
  gaps: readonly Span[],
  day: string,
  { at, zoom, rate }: PlaybackAddress,
  change: Change,
) {
  const wound = useRef('')
  const isUnsaved = useRef(false)
  const wanted = `${day} ${useGoneTo()}`
  useEffect(() => player.setRate(rate), [player, rate])
  useEffect(() => player.stop, [player])
  useEffect(() => {
    if (!span) return player.stop()
    player.setRange(span, gaps)
    // A new subject joins at the current time. Another day, or an address that was gone back to, begins at the time of the
    // address.
    if (wound.current === wanted) return
    wound.current = wanted
    player.stop()
    player.seek(at ?? Math.max(player.begin, zoomInto(span, zoom).from))
  }, [player, span, gaps, wanted, at, zoom])
  useEffect(() => {
    if (!span) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const save = () => {
      clearTimeout(timer)
      isUnsaved.current = !player.playing
      if (player.playing) return
      timer = setTimeout(() => {
        isUnsaved.current = false
        change({ at: player.time === player.begin ? null : Math.round(player.time) })
      }, SAVE_AFTER_MS)
    }
    // The effect also runs again when a subject is added: then the timer starts again.
    if (isUnsaved.current) save()
    const leaves = [player.onTime(save), player.onState(save)]
    return () => {
      clearTimeout(timer)
      for (const leave of leaves) leave()
    }
  }, [player, span, change])
}

/** A short notice about a gap that the player has skipped. */
function Skipped({ player }: { player: Player }) {
  const t = usePlaybackTexts()
  const format = useFormat()
  const [gap, setGap] = useState<Span | null>(null)
  useEffect(() => player.onSkip(setGap), [player])
  useEffect(() => {
    if (!gap) return
    const timer = setTimeout(() => setGap(null), SAID_FOR_MS)
    return () => clearTimeout(timer)
  }, [gap])
  return (
    <p className="skipped" role="status">
      {gap && t.skipped(format.duration((gap.to - gap.from) / 1_000), format.clock(gap.to))}
    </p>
  )
}

function Notes(props: { loaded: boolean; anomalies: ReturnType<typeof useAnomalies>; wanted: boolean }) {
  const { loaded, anomalies, wanted } = props
  const t = usePlaybackTexts()
  const format = useFormat()
  const { points, isAll, isPending, error, retry } = anomalies
  return (
    <>
      {loaded && <p className="hint">{t.reduced(format.count(MAX_POINTS))}</p>}
      {wanted && !isPending && !error && (
        <p className="hint" role="status">
          {points.length === 0 ? t.noAnomalies : t.someAnomalies(format.count(points.length), isAll)}
        </p>
      )}
      {error && <Trouble error={error} onRetry={retry} />}
    </>
  )
}

interface StateProps {
  choice: PlaybackAddress
  day: string
  isPending: boolean
  shown: readonly PlayedSubject[]
  onDay: (day: string) => void
}

/** Shown instead of a track: the reason and the next step. */
function State({ choice, day, isPending, shown, onDay }: StateProps) {
  const texts = useTexts()
  const format = useFormat()
  const { fleet, known } = useLive()
  const t = usePlaybackTexts()
  if (choice.subjects.length === 0) {
    const isBare = known && fleet.size === 0
    return (
      <div className="welcome">
        <h2>{isBare ? t.noSubjects : t.start}</h2>
        <p className="hint">{isBare ? t.noSubjectsHint : t.startHint}</p>
      </div>
    )
  }
  if (isPending && shown.length === 0)
    return (
      <p className="map-note" role="status">
        {texts.loading}
      </p>
    )
  if (isPending || shown.length === 0 || shown.some(({ track }) => track.count > 0)) return null
  const days = shown.flatMap(({ subject, name, key }) => {
    const newest = fleet.find(subject.id)?.timestamp
    const date = newest ? format.dateOf(Date.parse(newest)) : day
    return date === day ? [] : [{ key, name, date }]
  })
  return (
    <div className="welcome" role="status">
      <h2>{t.empty(format.longDate(day))}</h2>
      <p className="hint">{t.emptyHint}</p>
      {days.length > 0 && (
        <div className="row-of-buttons">
          {days.map(({ key, name, date }) => (
            <ActionButton key={key} icon="history" onPress={() => onDay(date)}>
              {t.newest(name, format.longDate(date))}
            </ActionButton>
          ))}
        </div>
      )}
    </div>
  )
}
