import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, lazy, Suspense, useEffect, useRef } from 'react'
import { Button, Input, SearchField, ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { STATES, type State } from '../../live/fleet.ts'
import { useFleetVersion, useLive, useNow } from '../../live/live.tsx'
import { Icon, StateMark } from '../../parts/icon.tsx'
import { Choose } from '../../parts/parts.tsx'
import { useRecords } from '../../shell/records.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { areaOf, isDrawn } from './fences/area.ts'
import type { Fence } from './fences/queries.ts'
import { type Filters, SORTS, type Sort } from './filters.ts'
import { useHubs } from './queries.ts'

const ChooseRecord = lazy(async () => ({
  default: (await import('../../parts/choose-record.tsx')).ChooseRecord,
}))
const ROW_PX = 44
const AGES_EVERY_MS = 10_000

interface Props {
  ids: readonly string[]
  filters: Filters
  fences: readonly Fence[]
  onChange: (next: Partial<Filters>) => void
  onSelect: (subjectId: string) => void
}

export function SubjectList({ ids, filters, fences, onChange, onSelect }: Props) {
  const texts = useTexts()
  const format = useFormat()
  const { fleet } = useLive()
  const { data: hubs = [] } = useHubs()
  const teams = useRecords('teams', '')
  const counts = [0, 0, 0]
  for (let slot = 0; slot < fleet.size; slot++) (counts[fleet.states[slot] as number] as number)++
  /** What was drawn is one of them as long as it counts. */
  const areas = [
    { id: '', name: texts.fences.anywhere },
    ...(isDrawn(filters.area) ? [{ id: filters.area, name: texts.fences.drawn }] : []),
    ...fences.map(({ _id, name }) => ({ id: areaOf(_id), name })),
  ]
  const sorts = SORTS.map(id => ({ id, name: texts.map.sorts[id] }))

  return (
    <section className="list" aria-label={texts.map.subjects}>
      <div className="list-head">
        <SearchField
          className="search"
          value={filters.search}
          onChange={search => onChange({ search })}
          aria-label={texts.map.search}
        >
          <Icon name="search" />
          <Input placeholder={texts.map.search} />
          <Button className="button quiet square clear" aria-label={texts.map.clear}>
            <Icon name="close" />
          </Button>
        </SearchField>
        <ToggleButtonGroup
          className="switch"
          aria-label={texts.map.state}
          selectionMode="single"
          disallowEmptySelection
          selectedKeys={[filters.state]}
          onSelectionChange={keys => onChange({ state: [...keys][0] as State | 'all' })}
        >
          <ToggleButton id="all">{texts.map.all}</ToggleButton>
          {STATES.map((state, index) => (
            <ToggleButton id={state} key={state} aria-label={`${texts.states[state]}: ${counts[index]}`}>
              <StateMark state={state} />
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
                value={filters.hub}
                onChange={hub => onChange({ hub })}
                none={texts.map.anyHub}
              />
            )}
            {teams.length > 0 && (
              <ChooseRecord
                compact
                kind="teams"
                label={texts.map.team}
                value={filters.team}
                onChange={team => onChange({ team })}
                none={texts.map.anyTeam}
              />
            )}
          </Suspense>
          {areas.length > 1 && (
            <Choose
              compact
              label={texts.fences.area}
              value={filters.area}
              onChange={area => onChange({ area })}
              choices={areas}
            />
          )}
          <Choose
            compact
            label={texts.map.sort}
            value={filters.sort}
            onChange={sort => onChange({ sort: sort as Sort })}
            choices={sorts}
          />
        </div>
        <p className="hint" role="status">
          {texts.map.count(format.count(ids.length), format.count(fleet.size))}
        </p>
      </div>
      {ids.length > 0 ? (
        <Rows ids={ids} selected={filters.subject} onSelect={onSelect} />
      ) : (
        fleet.size > 0 && (
          <div className="empty">
            <p>{texts.map.none}</p>
            <p className="hint">{texts.map.noneHint}</p>
          </div>
        )
      )}
    </section>
  )
}

/** As many rows as are seen, of as many as there are. */
function Rows(props: { ids: readonly string[]; selected: string | null; onSelect: (id: string) => void }) {
  const { ids, selected, onSelect } = props
  const texts = useTexts()
  const box = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: ids.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
    getItemKey: index => ids[index] as string,
  })
  const at = selected === null ? -1 : ids.indexOf(selected)
  const { scrollToIndex } = rows
  // biome-ignore lint/correctness/useExhaustiveDependencies: another subject is scrolled to, another order is not
  useEffect(() => {
    if (at >= 0) scrollToIndex(at, { align: 'auto' })
  }, [selected, scrollToIndex])

  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.floor((box.current?.clientHeight ?? ROW_PX) / ROW_PX)
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at === -1 ? ids.length - 1 : at - 1,
      Home: 0,
      End: ids.length - 1,
      PageDown: at + page,
      PageUp: at - page,
    }
    const next = steps[event.key]
    if (next === undefined) return
    event.preventDefault()
    onSelect(ids[Math.max(0, Math.min(ids.length - 1, next))] as string)
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
  onSelect: (id: string) => void
}

function Row({ id, index, all, top, isSelected, onSelect }: RowProps) {
  const texts = useTexts()
  const format = useFormat()
  const { fleet } = useLive()
  useFleetVersion(fleet, 1_000)
  const now = useNow(AGES_EVERY_MS)
  const position = fleet.find(id)
  if (!position) return null
  const { state, speed, name, timestamp } = position
  const age = format.ago(Date.parse(timestamp), now)
  const said = state === 'moving' && speed !== null ? format.speed(speed) : texts.states[state]
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
      onClick={() => onSelect(id)}
    >
      <StateMark state={state} />
      <span className="row-name">{name}</span>
      <span className="row-speed">{said}</span>
      <span className="row-age">{age}</span>
    </div>
  )
}
