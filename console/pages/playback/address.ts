import { useCallback, useMemo, useState } from 'react'
import { useSearchParams } from 'react-router'
import { serverNow } from '../../clock.ts'

export const TYPES = ['device', 'user', 'vehicle'] as const
export interface Subject {
  type: (typeof TYPES)[number]
  id: string
}

/** As many as have a colour of their own. */
export const MAX_SUBJECTS = 6
/** How many times faster than it was. */
export const RATES = [1, 2, 5, 10, 30, 60] as const
const STANDARD_RATE = 10

export interface Span {
  /** Milliseconds since 1970, `to` exclusive. */
  from: number
  to: number
}

export interface PlaybackAddress {
  subjects: Subject[]
  /** 2026-11-21. An address that names neither a day nor a time means the day on which it is opened. */
  day: string
  /** Whether that was today when it was opened, and is over. */
  isOver: boolean
  /** Milliseconds since 1970; null is the beginning. */
  at: number | null
  /** What the chart shows of the day; null is all of it. */
  zoom: Span | null
  rate: number
  anomalies: boolean
}

const DAY_MS = 86_400_000

/** So many days after a day, by the calendar alone. */
export const stepDay = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)

/** Of a year with four digits, as the day after it. Browsers parse the 30th of February as well. */
const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  stepDay(text, 0) === text &&
  text >= '1970-01-01' &&
  text < '9999-12-31'

export const keyOf = ({ type, id }: Subject): string => `${type}:${id}`

/** A day of null is the one on which somebody goes to it. */
export type Change = (
  next: Partial<Omit<PlaybackAddress, 'day' | 'isOver'>> & { day?: string | null },
) => void

/** What is played back is in the address: it can be sent, gone back to, and loaded again. `dateOf` is of its calendar. */
export function usePlaybackAddress(
  dateOf: (at: number) => string,
  now: number,
): readonly [PlaybackAddress, Change] {
  const [params, setParams] = useSearchParams()
  // The same ones as long as the address names the same: another time draws no chart anew under the hand that drags over it.
  const named = params.getAll('subject').join(' ')
  const subjects = useMemo(() => readSubjects(named.split(' ')), [named])
  const [from, to] = [params.get('from'), params.get('to')]
  const zoom = useMemo(() => readZoom(from, to), [from, to])
  const written = params.get('day') ?? ''
  // The day stays where it is when midnight passes: it is found anew where somebody goes to a day that has no name.
  const [opened, setOpened] = useState({ named, written, at: serverNow() })
  if (opened.named !== named || opened.written !== written)
    setOpened({ named, written, at: isDay(written) ? opened.at : serverNow() })
  const today = dateOf(now)
  const choice = useMemo<PlaybackAddress>(() => {
    const rate = Number(params.get('rate'))
    const at = Date.parse(params.get('at') ?? '')
    const day = isDay(written) ? written : dateOf((Number.isNaN(at) ? zoom?.from : at) ?? opened.at)
    return {
      subjects,
      day,
      isOver: day === dateOf(opened.at) && day < today,
      at: Number.isNaN(at) ? null : at,
      zoom,
      rate: RATES.includes(rate as (typeof RATES)[number]) ? rate : STANDARD_RATE,
      anomalies: params.get('anomalies') === 'true',
    }
  }, [params, subjects, zoom, written, opened, today, dateOf])
  const { day } = choice
  const change = useCallback<Change>(
    next => {
      if (next.day !== undefined) setOpened(before => ({ ...before, at: serverNow() }))
      setParams(
        () => {
          // Of the address itself: what was changed a moment ago may not be drawn yet.
          const changed = new URLSearchParams(location.search)
          const set = (name: string, value: string | null) =>
            value === null ? changed.delete(name) : changed.set(name, value)
          if (next.subjects) {
            changed.delete('subject')
            for (const subject of next.subjects) changed.append('subject', keyOf(subject))
          }
          if (next.day !== undefined) set('day', next.day)
          if (next.at !== undefined) set('at', next.at === null ? null : new Date(next.at).toISOString())
          if (next.zoom !== undefined) {
            set('from', next.zoom && new Date(next.zoom.from).toISOString())
            set('to', next.zoom && new Date(next.zoom.to).toISOString())
          }
          // A time is one of its day, and a day that is over no other.
          const isOfDay = changed.has('at') || changed.has('from') || day !== dateOf(serverNow())
          if (next.day === undefined && isOfDay) set('day', day)
          if (next.rate !== undefined) set('rate', next.rate === STANDARD_RATE ? null : String(next.rate))
          if (next.anomalies !== undefined) set('anomalies', next.anomalies ? 'true' : null)
          return changed
        },
        // Going back leads from day to day and from subject to subject, not from second to second.
        { replace: next.subjects === undefined && next.day === undefined },
      )
    },
    [setParams, day, dateOf],
  )
  return [choice, change] as const
}

function readZoom(from: string | null, to: string | null): Span | null {
  const zoom = { from: Date.parse(from ?? ''), to: Date.parse(to ?? '') }
  return zoom.from < zoom.to ? zoom : null
}

function readSubjects(texts: readonly string[]): Subject[] {
  const subjects = texts.flatMap(text => {
    const [type, id] = text.split(':')
    const known = TYPES.find(one => one === type)
    return known && /^[\da-f-]{36}$/i.test(id ?? '') ? [{ type: known, id: id as string }] : []
  })
  const keys = subjects.map(keyOf)
  return subjects.filter((subject, index) => keys.indexOf(keyOf(subject)) === index).slice(0, MAX_SUBJECTS)
}
