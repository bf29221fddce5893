import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type RefObject, useEffect, useRef } from 'react'
import { useLive, useNow } from '../../live/live.tsx'
import { afterDialog, focusHeading } from '../../parts/focus.ts'
import { StateMark } from '../../parts/icon.tsx'
import { fromRem } from '../../parts/rem.ts'
import { stepTo } from '../../parts/rows.ts'
import { useAfterPaint } from '../../parts/use-after-paint.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { useStreets } from './row-streets.ts'
import { hasFallenSilent, readSpeed } from './speed.ts'
import { sayWork, useWork } from './subject-work.ts'

const ROW_PX = fromRem(2.75)
const AGES_EVERY_MS = 10_000
/** A shorter time in a state is no news. */
const TOLD_FROM_MS = 60_000

interface Props {
  ids: readonly string[]
  onSelect: (subjectId: string) => void
  /** Moves to the next subject by keys. */
  onStep: (subjectId: string) => void
  box: RefObject<HTMLDivElement | null>
  selected: string | null
}

/** Renders only the visible rows. */
export function SubjectRows({ box, ids, selected, onSelect, onStep }: Props) {
  const texts = useTexts()
  const rows = useVirtualizer({
    count: ids.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
    getItemKey: index => ids[index] as string,
  })
  const visible = rows.getVirtualItems()
  const streetOf = useStreets(visible.map(({ index }) => ids[index] as string))
  const at = selected === null ? -1 : ids.indexOf(selected)
  const { scrollToIndex } = rows
  const shown = useAfterPaint(selected)
  const now = useNow(AGES_EVERY_MS)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another subject is scrolled to, another order is not
  useEffect(() => {
    if (at >= 0) scrollToIndex(at, { align: 'auto' })
  }, [shown, scrollToIndex])
  // A visible selected row stays visible when the filters above it grow.
  const heightPx = rows.scrollRect?.height ?? 0
  const heightBefore = useRef(heightPx)
  useEffect(() => {
    const end = (at + 1) * ROW_PX - (box.current?.scrollTop ?? 0)
    const wasSeen = at >= 0 && end >= ROW_PX && end <= heightBefore.current
    heightBefore.current = heightPx
    if (wasSeen && end > heightPx) scrollToIndex(at, { align: 'auto' })
  }, [heightPx, at, box, scrollToIndex])

  const onKeyDown = (event: KeyboardEvent) => {
    // Moves on to the panel of the selected subject.
    if (event.key === 'Enter' && at >= 0) return focusHeading()
    const page = Math.floor((box.current?.clientHeight ?? ROW_PX) / ROW_PX)
    // Arrow up without a selection leads to the last one.
    const from = at === -1 && event.key === 'ArrowUp' ? ids.length : at
    const next = stepTo(event.key, from, { count: ids.length, page })
    if (next === undefined) return
    event.preventDefault()
    onStep(ids[next] as string)
  }
  return (
    <div
      className="rows"
      ref={box}
      role="listbox"
      tabIndex={0}
      aria-label={texts.map.subjects}
      aria-activedescendant={at >= 0 ? `subject-${selected}` : undefined}
      onKeyDown={onKeyDown}
    >
      <div style={{ height: rows.getTotalSize() }} role="presentation">
        {visible.map(item => (
          <Row
            key={item.key}
            id={ids[item.index] as string}
            index={item.index}
            all={ids.length}
            top={item.start}
            isSelected={item.index === at}
            now={now}
            street={streetOf(ids[item.index] as string)}
            onSelect={onSelect}
          />
        ))}
      </div>
    </div>
  )
}

interface RowProps {
  id: string
  index: number
  all: number
  top: number
  isSelected: boolean
  now: number
  street: string
  onSelect: (id: string) => void
}

function Row({ id, index, all, top, isSelected, now, street, onSelect }: RowProps) {
  const texts = useTexts()
  const format = useFormat()
  const { fleet, state: live } = useLive()
  const work = sayWork(useWork(id))
  const position = fleet.find(id)
  if (!position) return null
  const { state, name, timestamp } = position
  const speed = readSpeed(position)
  const fixedAt = Date.parse(timestamp)
  const age = live.name === 'offline' ? texts.subject.asOf(format.since(fixedAt)) : format.ago(fixedAt, now)
  const isSilent = live.name !== 'offline' && hasFallenSilent(position)
  const since = now - fleet.stateSince(id)
  const detail =
    state === 'moving' && speed !== null
      ? format.speed(speed)
      : state === 'idle' && !isSilent && live.name !== 'offline' && since >= TOLD_FROM_MS
        ? format.duration(since / 1_000)
        : ''
  const shown = [isSilent ? texts.map.silent : texts.states[state], detail].filter(Boolean).join(' · ')
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are the list's, as for any option
    <div
      className="row"
      id={`subject-${id}`}
      role="option"
      aria-selected={isSelected}
      aria-setsize={all}
      aria-posinset={index + 1}
      tabIndex={-1}
      style={{ transform: `translateY(${top}px)` }}
      onClick={({ detail }) => {
        onSelect(id)
        // A screen reader clicks without a pointer.
        if (detail === 0) afterDialog(focusHeading)
      }}
    >
      <StateMark state={state} />
      <span className="row-name">{name}</span>
      <span className="row-speed">{shown}</span>
      <span className="row-words">{[work, street].filter(Boolean).join(' · ')}</span>
      <span className="row-age">{age}</span>
    </div>
  )
}
