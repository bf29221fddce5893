import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  type RefObject,
  Suspense,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { Input, SearchField, ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { useFleetVersion, useLive, useNow } from '../../live/live.tsx'
import { STATES, type State } from '../../live/packed.ts'
import { afterDialog, focusHeading } from '../../parts/focus.ts'
import { Icon, StateMark } from '../../parts/icon.tsx'
import { ActionButton, Choose, IconButton } from '../../parts/parts.tsx'
import { useRecords } from '../../parts/records.ts'
import { fromRem } from '../../parts/rem.ts'
import { stepTo } from '../../parts/rows.ts'
import { useAfterPaint } from '../../parts/use-after-paint.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { findArea, isDrawn } from './fences/address-area.ts'
import type { Fence } from './fences/fence-queries.ts'
import { createTest, type Filters, NO_FILTERS, SORTS, type Sort } from './filters.ts'
import { hasFallenSilent, readSpeed } from './speed.ts'

const ChooseRecord = lazyWithRetry(async () => ({
  default: (await import('../../parts/choose-record.tsx')).ChooseRecord,
}))
const ChooseArea = lazyWithRetry(() => import('./fences/choose-area.tsx'))
const ROW_PX = fromRem(2.75)
const AGES_EVERY_MS = 10_000
const COUNTED_EVERY_MS = 1_000

interface Props {
  ids: readonly string[]
  filters: Filters
  fences: readonly Fence[]
  areFencesWhole: boolean
  onChange: (next: Partial<Filters>) => void
  onSelect: (subjectId: string) => void
  /** Moves to the next subject by keys. */
  onStep: (subjectId: string) => void
  /** A note below the list. */
  children?: ReactNode
}

export function SubjectList(props: Props) {
  const { ids, filters, fences, areFencesWhole, onChange, onSelect, onStep, children } = props
  const texts = useTexts()
  const { search, state, hub, team, sort, area, subject } = filters
  const rows = useRef<HTMLDivElement>(null)
  /** Arrow down moves from the search to its results. */
  const onKeyDown = (event: KeyboardEvent) => {
    const isSearch = event.target instanceof HTMLInputElement && event.target.type === 'search'
    const [first] = ids
    if (event.key !== 'ArrowDown' || !isSearch || first === undefined) return
    event.preventDefault()
    rows.current?.focus()
    if (subject === null || !ids.includes(subject)) onStep(first)
  }
  return (
    <section className="list" aria-label={texts.map.subjects} onKeyDownCapture={onKeyDown}>
      <ListHead
        {...{ search, state, hub, team, sort, area, fences, areFencesWhole, onChange }}
        listed={ids.length}
      />
      {ids.length > 0 ? (
        <Rows box={rows} ids={ids} selected={subject} onSelect={onSelect} onStep={onStep} />
      ) : (
        <Nobody className="empty" {...{ ids, filters, onChange }} />
      )}
      {children}
    </section>
  )
}

/** Offers to clear the filters when no subject passes them. */
export function Nobody({
  className,
  ids,
  filters: { hub, team },
  onChange,
}: Pick<Props, 'ids' | 'filters' | 'onChange'> & { className: string }) {
  const { map: t, live } = useTexts()
  const { fleet, known, state } = useLive()
  if (state.name === 'forbidden') return <p className={className}>{live.forbidden}</p>
  if (!known || ids.length > 0 || (fleet.size === 0 && hub === '' && team === '')) return null
  return (
    <div className={className}>
      <p>{t.none}</p>
      <ActionButton onPress={() => onChange(NO_FILTERS)}>{t.clearFilters}</ActionButton>
    </div>
  )
}

interface HeadProps
  extends Pick<Filters, 'search' | 'state' | 'hub' | 'team' | 'sort' | 'area'>,
    Pick<Props, 'fences' | 'areFencesWhole' | 'onChange'> {
  listed: number
}

/** The time that the server needs to answer for another hub. */
const SAID_FOR_MS = 2_000

/** Memoized: it does not render again when another subject is selected. */
const ListHead = memo(function ListHead(props: HeadProps) {
  const { search, state, hub, team, sort, area, fences, areFencesWhole, listed, onChange } = props
  const texts = useTexts()
  const format = useFormat()
  const { fleet, state: live } = useLive()
  useFleetVersion(fleet, COUNTED_EVERY_MS)
  const hubs = useRecords('hubs', '')
  const teams = useRecords('teams', '')
  // The number of subjects that each state button would leave, given all other filters.
  const isListed = useMemo(
    () => createTest(fleet, { search, state: 'all' }, findArea(area, fences)),
    [fleet, search, area, fences],
  )
  const counts = [0, 0, 0]
  for (let slot = 0; slot < fleet.size; slot++)
    if (isListed(slot)) (counts[fleet.columns.state[slot] as number] as number)++
  const sorts = SORTS.map(id => ({ id, name: texts.map.sorts[id] }))
  const filtered = [search, state, hub, team, area].join()
  const [calm, setCalm] = useState(filtered)
  useEffect(() => {
    const timer = setTimeout(() => setCalm(filtered), SAID_FOR_MS)
    return () => clearTimeout(timer)
  }, [filtered])

  return (
    <div className="list-head">
      <SearchField
        className="search"
        value={search}
        onChange={next => onChange({ search: next })}
        aria-label={texts.map.search}
      >
        <Icon name="search" />
        <Input placeholder={texts.map.search} />
        <IconButton icon="close" label={texts.map.clear} className="clear" />
      </SearchField>
      <ToggleButtonGroup
        className="switch"
        aria-label={texts.map.state}
        selectionMode="single"
        disallowEmptySelection
        selectedKeys={[state]}
        onSelectionChange={keys => onChange({ state: [...keys][0] as State | 'all' })}
      >
        <ToggleButton id="all">{texts.map.all}</ToggleButton>
        {STATES.map((one, index) => (
          <ToggleButton key={one} id={one} aria-label={`${texts.states[one]}: ${counts[index]}`}>
            <StateMark state={one} />
            {format.count(counts[index] as number)}
          </ToggleButton>
        ))}
      </ToggleButtonGroup>
      <div className="list-filters">
        <Suspense>
          {hubs.length > 1 && (
            <ChooseRecord
              compact
              kind="hubs"
              label={texts.map.hub}
              value={hub}
              onChange={next => onChange({ hub: next })}
              none={texts.map.anyHub}
            />
          )}
          {teams.length > 0 && (
            <ChooseRecord
              compact
              kind="teams"
              label={texts.map.team}
              value={team}
              onChange={next => onChange({ team: next })}
              none={texts.map.anyTeam}
            />
          )}
          {(fences.length > 0 || isDrawn(area)) && (
            <ChooseArea
              fences={fences}
              isWhole={areFencesWhole}
              value={area}
              onChange={next => onChange({ area: next })}
            />
          )}
        </Suspense>
        <Choose
          compact
          label={texts.map.sort}
          value={sort}
          onChange={next => onChange({ sort: next as Sort })}
          choices={sorts}
        />
      </div>
      {/* Announced when somebody has changed the filters, and not whenever a subject moves in or out. */}
      <p className="hint" role="status" aria-live={calm === filtered ? 'off' : 'polite'}>
        {live.name !== 'forbidden' && texts.map.count(format.count(listed), format.count(fleet.size))}
      </p>
    </div>
  )
})

/** Renders only the visible rows. */
function Rows(
  props: Pick<Props, 'ids' | 'onSelect' | 'onStep'> & {
    box: RefObject<HTMLDivElement | null>
    selected: string | null
  },
) {
  const { box, ids, selected, onSelect, onStep } = props
  const texts = useTexts()
  const rows = useVirtualizer({
    count: ids.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
    getItemKey: index => ids[index] as string,
  })
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
        {rows.getVirtualItems().map(item => (
          <Row
            key={item.key}
            id={ids[item.index] as string}
            index={item.index}
            all={ids.length}
            top={item.start}
            isSelected={item.index === at}
            now={now}
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
  onSelect: (id: string) => void
}

function Row({ id, index, all, top, isSelected, now, onSelect }: RowProps) {
  const texts = useTexts()
  const format = useFormat()
  const { fleet, state: live } = useLive()
  const position = fleet.find(id)
  if (!position) return null
  const { state, name, timestamp } = position
  const speed = readSpeed(position)
  const fixedAt = Date.parse(timestamp)
  const age = live.name === 'offline' ? texts.subject.asOf(format.since(fixedAt)) : format.ago(fixedAt, now)
  const isSilent = live.name !== 'offline' && hasFallenSilent(position)
  const shown =
    state === 'moving' && speed !== null
      ? format.speed(speed)
      : isSilent
        ? texts.map.silent
        : texts.states[state]
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
      <span className="row-age">{age}</span>
    </div>
  )
}
