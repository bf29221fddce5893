import { lazy, Suspense, useDeferredValue, useEffect, useMemo, useState } from 'react'
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { useFleetVersion, useLive } from '../../live/live.tsx'
import { useLocale, useTexts } from '../../texts/texts.tsx'
import { createTest, listSubjects, useFilters } from './filters.ts'
import { MapView } from './map-view.tsx'
import { SubjectList } from './subject-list.tsx'
import { SubjectPanel } from './subject-panel.tsx'
import type { MadeDevice } from './welcome.tsx'

const Welcome = lazy(() => import('./welcome.tsx'))
const SetupDialog = lazy(() => import('../setup-dialog.tsx'))
/** How often the list is sorted anew. */
const SORT_EVERY_MS = 1_000

export function MapPage() {
  const texts = useTexts()
  const locale = useLocale()
  const { fleet, known, filter } = useLive()
  const [filters, change] = useFilters()
  /** The first device, whose dialog stays open when its first point has ended the emptiness. */
  const [made, setMade] = useState<MadeDevice | null>(null)
  const [shown, setShown] = useState<'map' | 'list'>('map')
  const version = useDeferredValue(useFleetVersion(fleet, SORT_EVERY_MS))
  const { search, state, sort, hub, team, subject } = filters

  useEffect(() => filter(hub ? [hub] : [], team ? [team] : []), [hub, team, filter])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the fleet changes in place, its version says so
  const ids = useMemo(
    () => listSubjects(fleet, filters, locale),
    [fleet, version, search, state, sort, locale],
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: of all filters these two count here
  const isShown = useMemo(() => createTest(fleet, filters), [fleet, search, state])
  const isEmpty = known && fleet.size === 0 && hub === '' && team === ''
  const select = (id: string | null) => {
    change({ subject: id, ...(id === null && { follow: false }) })
    if (id !== null) setShown('map')
  }

  return (
    <main className={`map-page show-${shown}`} id="content">
      <title>{`${texts.map.title} · ${texts.product}`}</title>
      <h1 className="unseen">{texts.map.title}</h1>
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
      <SubjectList ids={ids} filters={filters} onChange={change} onSelect={select} />
      <div className="map-area">
        <MapView
          isShown={isShown}
          subject={subject}
          follow={filters.follow}
          onSelect={select}
          onStray={() => change({ follow: false })}
        />
        {isEmpty && !made && (
          <Suspense>
            <Welcome onMade={setMade} />
          </Suspense>
        )}
        {made && (
          <Suspense>
            <SetupDialog device={made} deviceKey={made.key} onClose={() => setMade(null)} />
          </Suspense>
        )}
        {subject && (
          <SubjectPanel
            key={subject}
            subjectId={subject}
            follow={filters.follow}
            onFollow={follow => change({ follow })}
            onClose={() => select(null)}
          />
        )}
      </div>
    </main>
  )
}
