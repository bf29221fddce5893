import type { Map as MapLibre } from 'maplibre-gl'
import { Suspense, useDeferredValue, useEffect, useMemo, useState } from 'react'
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { lazyWithRetry, preload } from '../../api/lazy-with-retry.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { useFleetVersion, useLive } from '../../live/live.tsx'
import { useSingleKeys } from '../../parts/single-keys.ts'
import { useDebounced } from '../../parts/use-debounced.ts'
import { LostBar } from '../../shell/live-badge.tsx'
import { useLocale, useTexts } from '../../texts/texts.tsx'
import { findArea } from './fences/address-area.ts'
import { FenceButtons, FenceParts, findFenceAt } from './fences/fence-parts.tsx'
import { useFences } from './fences/fence-queries.ts'
import { createTest, listSubjects, NO_FILTERS, orderByName, useFilters } from './filters.ts'
import { MapView } from './map-view.tsx'
import { Nobody, SubjectList } from './subject-list.tsx'
import { SubjectPanel } from './subject-panel.tsx'
import type { MadeDevice } from './welcome.tsx'

const Welcome = lazyWithRetry(() => import('./welcome.tsx'))
const StreetsHint = lazyWithRetry(() => import('./streets-hint.tsx'))
const SampleNote = lazyWithRetry(async () => ({ default: (await import('./sample-data.tsx')).SampleNote }))
const ReadWork = lazyWithRetry(() => import('./read-work.tsx'))
const SetupDialog = lazyWithRetry(() => import('../setup-dialog.tsx'))
/** The interval at which the list is sorted again. */
const SORT_EVERY_MS = 1_000

/** Hints load after the map and its first markers. */
const HINTS_AFTER_MS = 1_000

function useLater(isOpen: boolean): boolean {
  const [isLater, setLater] = useState(false)
  useEffect(() => {
    if (!isOpen) return setLater(false)
    const timer = setTimeout(() => setLater(true), HINTS_AFTER_MS)
    return () => clearTimeout(timer)
  }, [isOpen])
  return isLater
}

export function MapPage() {
  const texts = useTexts()
  const locale = useLocale()
  const { may } = useWorkspace()
  const { fleet, known, state: live, filter } = useLive()
  const [filters, change] = useFilters()
  /** The first device. Its dialog stays open when its first position replaces the welcome. */
  const [made, setMade] = useState<MadeDevice | null>(null)
  const [shown, setShown] = useState<'map' | 'list'>('map')
  const version = useDeferredValue(useFleetVersion(fleet, SORT_EVERY_MS))
  const { search, state, sort, hub, team, subject, fence } = filters
  // Somebody who moves through the list by keys loads only the history of the last subject.
  const debounced = useDebounced(subject)
  const [map, setMap] = useState<MapLibre | null>(null)
  const [isSelecting, setSelecting] = useState(false)
  const { fences, isWhole, areAwaited } = useFences()
  const showsHints = useLater(map !== null) && may('update/organization')
  const showsWork = useLater(known) && may('view/task')
  const area = useMemo(() => findArea(filters.area, fences), [filters.area, fences])
  const isEditing = fence === 'new' || (fence !== null && filters.edit)

  const isLive = map !== null && live.name === 'live'
  useEffect(() => (isLive ? preload() : undefined), [isLive])
  useEffect(() => filter(hub ? [hub] : [], team ? [team] : []), [hub, team, filter])

  const byName = useMemo(() => orderByName(fleet, locale), [fleet, fleet.members, locale])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the fleet changes in place, its version says so
  const ids = useMemo(
    () => listSubjects(fleet, byName, filters, area),
    [fleet, byName, version, search, state, sort, area],
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: of all filters these two count here
  const isShown = useMemo(() => createTest(fleet, filters, area), [fleet, search, state, area])
  const isEmpty = known && fleet.size === 0 && hub === '' && team === ''
  const select = (id: string | null, { isStep = false } = {}) => {
    const next = { subject: id, fence: null, edit: false, ...(id === null && { follow: false }) }
    change(next, { isStep: isStep && subject !== null })
    if (id !== null && !isStep) setShown('map')
  }
  const step = (by: number) => {
    const at = subject === null ? -1 : ids.indexOf(subject)
    const next = ids[at === -1 && by < 0 ? ids.length - 1 : at + by]
    if (next !== undefined) select(next, { isStep: true })
  }
  useSingleKeys({
    j: () => step(1),
    k: () => step(-1),
    f: subject ? () => change({ follow: !filters.follow }) : undefined,
  })
  const openFence = (id: string | null, edit = false) => {
    change({ fence: id, edit, ...(id !== null && { subject: null, follow: false, fences: true }) })
    if (id !== null) setShown('map')
  }
  /** A click beside all subjects: on a geofence, or on nothing. */
  const selectAt = (id: string | null, point: { x: number; y: number }) => {
    const hit = id === null && filters.fences ? findFenceAt(map, point) : null
    if (hit) openFence(hit)
    else select(id)
  }

  return (
    <main className={`map-page show-${shown}`} id="content">
      <title>{`${texts.map.title} · ${texts.product}`}</title>
      <h1 className="unseen">{texts.map.title}</h1>
      <LostBar />
      <ToggleButtonGroup
        className="switch phone-only"
        aria-label={texts.map.title}
        selectionMode="single"
        disallowEmptySelection
        selectedKeys={[shown]}
        onSelectionChange={keys => setShown([...keys][0] as 'map' | 'list')}
      >
        <ToggleButton id="map">{texts.map.map}</ToggleButton>
        <ToggleButton id="list">{texts.map.list}</ToggleButton>
      </ToggleButtonGroup>
      <SubjectList
        ids={ids}
        filters={filters}
        fences={fences}
        areFencesWhole={isWhole}
        areFencesAwaited={areAwaited}
        onChange={change}
        onSelect={select}
        onStep={id => select(id, { isStep: true })}
      >
        {showsHints && (
          <Suspense>
            <SampleNote />
          </Suspense>
        )}
      </SubjectList>
      {showsWork && (
        <Suspense>
          <ReadWork />
        </Suspense>
      )}
      <div className="map-area">
        {/* In the tab order it follows the list, not the buttons of the map. */}
        {subject && (
          <SubjectPanel
            key={subject}
            subjectId={subject}
            isDebounced={debounced === subject}
            follow={filters.follow}
            onFollow={follow => change({ follow })}
            isFiltered={hub !== '' || team !== ''}
            onClearFilters={() => change(NO_FILTERS)}
            onClose={() => select(null)}
          />
        )}
        <MapView
          isShown={isShown}
          isAnybody={ids.length > 0}
          subject={subject}
          isDebounced={debounced === subject}
          follow={filters.follow}
          isElsewhere={fence !== null && fence !== 'new'}
          isDrawing={isSelecting || isEditing}
          onMap={setMap}
          onSelect={selectAt}
          onStray={() => change({ follow: false })}
        >
          <FenceButtons
            filters={filters}
            isSelecting={isSelecting}
            onShow={wanted => change({ fences: wanted })}
            onSelecting={setSelecting}
            onCreate={() => openFence('new')}
          />
        </MapView>
        <FenceParts
          map={map}
          fences={fences}
          isWhole={isWhole}
          filters={filters}
          area={area}
          isSelecting={isSelecting}
          onOpen={openFence}
          onArea={next => {
            setSelecting(false)
            if (next !== null) change({ area: next })
          }}
        />
        {map && showsHints && (
          <Suspense>
            <StreetsHint map={map} />
          </Suspense>
        )}
        <Nobody className="map-note nobody phone-only" filters={filters} ids={ids} onChange={change} />
        {isEmpty && !made && !isSelecting && fence === null && (
          <Suspense>
            <Welcome onMade={setMade} />
          </Suspense>
        )}
        {made && (
          <Suspense>
            <SetupDialog device={made} deviceKey={made.key} onClose={() => setMade(null)} />
          </Suspense>
        )}
      </div>
    </main>
  )
}
