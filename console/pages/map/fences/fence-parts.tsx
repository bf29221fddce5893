import type { Map as MapLibre } from 'maplibre-gl'
import { Suspense, useEffect, useMemo, useRef, useState } from 'react'
import { ToggleButton } from 'react-aria-components'
import { lazyWithRetry } from '../../../api/lazy-with-retry.ts'
import { useWorkspace } from '../../../api/workspace.ts'
import type { Shape } from '../../../map/areas.ts'
import { useReturnFocus } from '../../../parts/focus.ts'
import { Icon } from '../../../parts/icon.tsx'
import { MissingRecord } from '../../../parts/missing-record.tsx'
import { ActionButton, IconButton } from '../../../parts/parts.tsx'
import { useTexts } from '../../../texts/texts.tsx'
import type { Filters } from '../filters.ts'
import { areaOf, isDrawn } from './address-area.ts'
import type { Fence } from './fence-queries.ts'
import { FENCE_LAYER } from './layer-name.ts'

// An organization without geofences loads no code for them, and the code for drawing loads with the first drawing.
const Fences = lazyWithRetry(() => import('./fences.tsx'))
const FencePanel = lazyWithRetry(() => import('./fence-panel.tsx'))
const FenceEditor = lazyWithRetry(() => import('./fence-editor.tsx'))
const AreaDrawing = lazyWithRetry(() => import('./area-drawing.tsx'))

interface ButtonProps {
  filters: Filters
  isSelecting: boolean
  onShow: (wanted: boolean) => void
  onSelecting: (wanted: boolean) => void
  onCreate: () => void
}

/** The questions and forms about geofences beside the map. */
export function FenceButtons({ filters, isSelecting, onShow, onSelecting, onCreate }: ButtonProps) {
  const { fences: t, kinds } = useTexts()
  const { may } = useWorkspace()
  return (
    <>
      <ToggleButton
        className="button quiet square"
        aria-label={t.selectArea}
        isSelected={isSelecting}
        onChange={onSelecting}
      >
        <Icon name="area" />
      </ToggleButton>
      {may('view/geofence') && (
        <ToggleButton
          className="button quiet square"
          aria-label={t.show}
          isSelected={filters.fences}
          onChange={onShow}
        >
          <Icon name="fence" />
        </ToggleButton>
      )}
      {may('create/geofence') && <IconButton icon="draw" label={kinds.geofences.create} onPress={onCreate} />}
    </>
  )
}

interface Props {
  map: MapLibre | null
  fences: readonly Fence[]
  /** Whether all geofences are loaded. */
  isWhole: boolean
  filters: Filters
  area: Shape | null
  isSelecting: boolean
  onOpen: (fenceId: string | null, edit?: boolean) => void
  /** Null for the area before it. */
  onArea: (area: string | null) => void
}

/** Geofences on the map, the panel of the open one, and the drawing. */
export function FenceParts({ map, fences, isWhole, filters, area, isSelecting, onOpen, onArea }: Props) {
  const texts = useTexts()
  const { fence: id, edit } = filters
  const opened = fences.find(({ _id }) => _id === id)
  /** Input about a geofence stays when somebody else deletes it: saving shows the error. */
  const [begun, setBegun] = useState<Fence | null>(null)
  if (edit && opened && opened !== begun) setBegun(opened)
  const edited = edit ? (opened ?? (begun?._id === id ? begun : undefined)) : undefined
  const shown = useMemo(() => {
    if (!filters.fences) return []
    // The edited geofence is drawn by its editor.
    return edit ? fences.filter(({ _id }) => _id !== id) : fences
  }, [filters.fences, fences, edit, id])
  const drawn = isDrawn(filters.area) ? area : null
  const before = useRef<string | null>(null)
  useEffect(() => {
    before.current = edit ? id : null
  }, [edit, id])
  return (
    <Suspense>
      {/* A form stays open when another subject or geofence is selected. */}
      <Suspense>
        {map && (fences.length > 0 || drawn) && (
          <Fences map={map} fences={shown} opened={opened} area={drawn} />
        )}
      </Suspense>
      {filters.area !== '' && !isSelecting && <ClearArea onPress={() => onArea('')} />}
      {map && isSelecting && (
        <AreaDrawing map={map} filters={filters} onDone={onArea} onCancel={() => onArea(null)} />
      )}
      {id === 'new' && <FenceEditor key="new" fence={null} map={map} onDone={next => onOpen(next)} />}
      {edited && <FenceEditor key={edited._id} fence={edited} map={map} onDone={next => onOpen(next)} />}
      {opened && !edit && (
        <FencePanel
          key={opened._id}
          fence={opened}
          isArea={filters.area === areaOf(opened._id)}
          isBack={before.current === opened._id}
          onArea={wanted => onArea(wanted ? areaOf(opened._id) : '')}
          onEdit={() => onOpen(opened._id, true)}
          onClose={() => onOpen(null)}
        />
      )}
      {id && id !== 'new' && isWhole && !opened && !edited && (
        <aside className="panel" aria-label={texts.kinds.geofences.title}>
          <header className="panel-head">
            <h2>{texts.kinds.geofences.title}</h2>
            <IconButton icon="close" label={texts.subject.close} onPress={() => onOpen(null)} />
          </header>
          <MissingRecord>{texts.fences.missing}</MissingRecord>
        </aside>
      )}
    </Suspense>
  )
}

/** Also beside the map: on a phone the list, which names the area, is hidden. */
function ClearArea({ onPress }: { onPress: () => void }) {
  const { fences: t } = useTexts()
  useReturnFocus()
  return (
    <ActionButton className="clear-area" icon="close" onPress={onPress}>
      {t.clearArea}
    </ActionButton>
  )
}

/** The topmost geofence at a point of the screen. */
export function findFenceAt(map: MapLibre | null, { x, y }: { x: number; y: number }): string | null {
  if (!map?.getLayer(FENCE_LAYER)) return null
  const hits = map.queryRenderedFeatures([x, y], { layers: [FENCE_LAYER] })
  const ids = hits.map(({ properties }) => properties.id as string).filter(Boolean)
  return ids[0] ?? null
}
