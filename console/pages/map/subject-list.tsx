import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  Suspense,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { Input, SearchField, ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { useFleetVersion, useLive } from '../../live/live.tsx'
import { STATES, type State } from '../../live/packed.ts'
import { Icon, StateMark } from '../../parts/icon.tsx'
import { ActionButton, Choose, IconButton } from '../../parts/parts.tsx'
import { useAreRead, useRecords } from '../../parts/records.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { findArea, isDrawn } from './fences/address-area.ts'
import type { Fence } from './fences/fence-queries.ts'
import { createTest, type Filters, NO_FILTERS, SORTS, type Sort } from './filters.ts'
import { SubjectRows } from './subject-rows.tsx'

const ChooseRecord = lazyWithRetry(async () => ({
  default: (await import('../../parts/choose-record.tsx')).ChooseRecord,
}))
const ChooseArea = lazyWithRetry(() => import('./fences/choose-area.tsx'))
const COUNTED_EVERY_MS = 1_000

interface Props {
  ids: readonly string[]
  filters: Filters
  fences: readonly Fence[]
  areFencesWhole: boolean
  areFencesAwaited: boolean
  onChange: (next: Partial<Filters>) => void
  onSelect: (subjectId: string) => void
  /** Moves to the next subject by keys. */
  onStep: (subjectId: string) => void
  /** A note below the list. */
  children?: ReactNode
}

export function SubjectList(props: Props) {
  const { ids, filters, fences, areFencesWhole, areFencesAwaited, onChange, onSelect, onStep, children } =
    props
  const texts = useTexts()
  const { search, state, hub, team, sort, area, subject } = filters
  const rows = useRef<HTMLDivElement>(null)
  // The fields of these filters come in one go, and the rows below them: no row moves under a press.
  const [areHubsRead, areTeamsRead] = [useAreRead('hubs'), useAreRead('teams')]
  const areFiltersRead = areHubsRead && areTeamsRead && !areFencesAwaited
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
        {...{ search, state, hub, team, sort, area, fences, areFencesWhole, areFiltersRead, onChange }}
        listed={ids.length}
      />
      {!areFiltersRead ? null : ids.length > 0 ? (
        <SubjectRows box={rows} ids={ids} selected={subject} onSelect={onSelect} onStep={onStep} />
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
  areFiltersRead: boolean
  listed: number
}

/** The time that the server needs to answer for another hub. */
const SAID_FOR_MS = 2_000

/** Memoized: it does not render again when another subject is selected. */
const ListHead = memo(function ListHead(props: HeadProps) {
  const { search, state, hub, team, sort, area, fences, areFencesWhole, areFiltersRead, listed, onChange } =
    props
  const texts = useTexts()
  const format = useFormat()
  const { fleet, state: live } = useLive()
  useFleetVersion(fleet, COUNTED_EVERY_MS)
  // The number of subjects that each state button would leave, given all other filters.
  const isListed = useMemo(
    () => createTest(fleet, { search, state: 'all' }, findArea(area, fences)),
    [fleet, search, area, fences],
  )
  const counts = [0, 0, 0]
  for (let slot = 0; slot < fleet.size; slot++)
    if (isListed(slot)) (counts[fleet.columns.state[slot] as number] as number)++
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
        {areFiltersRead && <ListFilters {...{ hub, team, sort, area, fences, areFencesWhole, onChange }} />}
      </div>
      {/* Announced when somebody has changed the filters, and not whenever a subject moves in or out. */}
      <p className="hint" role="status" aria-live={calm === filtered ? 'off' : 'polite'}>
        {live.name !== 'forbidden' && texts.map.count(format.count(listed), format.count(fleet.size))}
      </p>
    </div>
  )
})

type FilterProps = Pick<
  HeadProps,
  'hub' | 'team' | 'sort' | 'area' | 'fences' | 'areFencesWhole' | 'onChange'
>

/** The filters that the organization has something for, and the order. */
function ListFilters({ hub, team, sort, area, fences, areFencesWhole, onChange }: FilterProps) {
  const texts = useTexts()
  const hubs = useRecords('hubs', '')
  const teams = useRecords('teams', '')
  const hasFilter = {
    hubs: hubs.length > 1,
    teams: teams.length > 0,
    areas: fences.length > 0 || isDrawn(area),
  }
  const places = Object.entries(hasFilter).filter(([, isThere]) => isThere)
  const sorts = SORTS.map(id => ({ id, name: texts.map.sorts[id] }))
  return (
    <>
      {/* Until their code is there, the fields keep their places. */}
      <Suspense fallback={places.map(([name]) => <span key={name} className="filter-place" />)}>
        {hasFilter.hubs && (
          <ChooseRecord
            compact
            kind="hubs"
            label={texts.map.hub}
            value={hub}
            onChange={next => onChange({ hub: next })}
            none={texts.map.anyHub}
          />
        )}
        {hasFilter.teams && (
          <ChooseRecord
            compact
            kind="teams"
            label={texts.map.team}
            value={team}
            onChange={next => onChange({ team: next })}
            none={texts.map.anyTeam}
          />
        )}
        {hasFilter.areas && (
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
    </>
  )
}
