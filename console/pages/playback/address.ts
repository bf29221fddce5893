import { useCallback, useMemo, useState } from 'react'
import { useSearchParams } from 'react-router'
import { serverNow } from '../../clock.ts'
import { isDay } from '../../parts/days.ts'

export const TYPES = ['device', 'user', 'vehicle'] as const
export interface Subject {
  type: (typeof TYPES)[number]
  id: string
}

/** Each subject has a colour of its own. */
export const MAX_SUBJECTS = 6
/** Playback speeds, as multiples of real time. */
export const RATES = [1, 2, 5, 10, 30, 60] as const
const STANDARD_RATE = 10

export interface Span {
  /** Milliseconds since 1970, `to` exclusive. */
  from: number
  to: number
}

export interface PlaybackAddress {
  subjects: Subject[]
  /** 2026-11-21. An address without a day and a time means the day on which it is opened. */
  day: string
  /** Whether the day was today when the page was opened, and is over now. */
  isOver: boolean
  /** Milliseconds since 1970; null means the beginning. */
  at: number | null
  /** The part of the day in the chart; null means all of it. */
  zoom: Span | null
  rate: number
  anomalies: boolean
}

export const keyOf = ({ type, id }: Subject): string => `${type}:${id}`

/** A null day means the current day. */
export type Change = (
  next: Partial<Omit<PlaybackAddress, 'day' | 'isOver'>> & { day?: string | null },
) => void

/**
 * The state of the playback is in the address, so it can be shared, loaded again, and reached by the back button. `dateOf`
 * gives dates in the organization's time zone.
 */
export function usePlaybackAddress(
  dateOf: (at: number) => string,
  now: number,
): readonly [PlaybackAddress, Change] {
  const [params, setParams] = useSearchParams()
  // The same object while the address names the same subjects: otherwise a new time would draw the chart again during a drag.
  const named = params.getAll('subject').join(' ')
  const subjects = useMemo(() => readSubjects(named.split(' ')), [named])
  const [from, to] = [params.get('from'), params.get('to')]
  const zoom = useMemo(() => readZoom(from, to), [from, to])
  const written = params.get('day') ?? ''
  // The day stays the same after midnight. It is determined again when an address without a day is opened.
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
          // From the address itself, as the last change may not be rendered yet.
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
          // A time belongs to its day, and a day that is over does not become another one.
          const isOfDay = changed.has('at') || changed.has('from') || day !== dateOf(serverNow())
          if (next.day === undefined && isOfDay) set('day', day)
          if (next.rate !== undefined) set('rate', next.rate === STANDARD_RATE ? null : String(next.rate))
          if (next.anomalies !== undefined) set('anomalies', next.anomalies ? 'true' : null)
          return changed
        },
        // The back button leads from day to day and from subject to subject, not from second to second.
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
