import '../../../styles/fences.css'
import type { Map as MapLibre } from 'maplibre-gl'
import { type ComponentProps, useCallback, useEffect, useRef, useState } from 'react'
import { useLive } from '../../../live/live.tsx'
import { useEscape, useReturnFocus } from '../../../parts/focus.ts'
import { ActionButton } from '../../../parts/parts.tsx'
import { fenceEditorTexts as de } from '../../../texts/de/fence-editor.ts'
import { fenceEditorTexts as en } from '../../../texts/en/fence-editor.ts'
import { useFormat, useOwnTexts, useTexts } from '../../../texts/texts.tsx'
import { createTest, type Filters } from '../filters.ts'
import { areaOfRing } from './address-area.ts'
import { openDrawing } from './drawing.ts'

interface Props {
  map: MapLibre
  filters: Filters
  onDone: (area: string) => void
  onCancel: () => void
}

const TEXTS = { en, de }

/** The step of the map's own arrow keys. */
const STEP_PX = 100
/** Degrees. A whole turn means everywhere; slightly more would wrap around. */
const WORLD = 359.999

/** Draws an area whose subjects the list shows. Without a mouse, the current view is selected. */
export default function AreaDrawing({ map, filters, onDone, onCancel }: Props) {
  const { form } = useTexts()
  const own = useOwnTexts(TEXTS)
  const format = useFormat()
  const { fleet } = useLive()
  const frame = useRef<HTMLDivElement>(null)
  const [inView, setInView] = useState(0)
  const done = useRef(onDone)
  done.current = onDone
  useReturnFocus()
  useEscape(onCancel)
  const readFrame = useCallback(() => ringBehind(map, frame.current as HTMLDivElement), [map])
  useEffect(() => {
    const drawing = openDrawing(map, shape => {
      if (shape.type === 'polygon') done.current(areaOfRing(shape.coordinates.slice(0, -1)))
    })
    drawing.begin('polygon')
    return () => drawing.close()
  }, [map])
  useEffect(() => {
    const count = () => {
      const isIn = createTest(fleet, filters, { type: 'polygon', coordinates: readFrame() })
      setInView([...fleet.ids.keys()].filter(isIn).length)
    }
    count()
    map.on('moveend', count)
    return () => void map.off('moveend', count)
  }, [map, fleet, filters, readFrame])
  const onKeyDown: ComponentProps<typeof ActionButton>['onKeyDown'] = event => {
    const move = MOVES[event.key]
    // With these modifiers the keys belong to the browser: Ctrl and plus enlarges text, Alt and an arrow goes back.
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return event.continuePropagation()
    event.preventDefault()
    move(map)
  }
  return (
    <>
      <div className="view-frame" ref={frame} aria-hidden="true" />
      <div className="map-note draw-note">
        <p id="draw-area">
          {own.drawArea} <span className="by-keys">{own.drawByKeys}</span>
        </p>
        <div className="row-of-buttons">
          <ActionButton
            className="take-view"
            autoFocus
            aria-describedby="draw-area"
            onKeyDown={onKeyDown}
            onPress={() => onDone(areaOfRing(readFrame()))}
          >
            {own.takeView}
          </ActionButton>
          <ActionButton onPress={onCancel}>{form.cancel}</ActionButton>
          <p className="hint" role="status">
            {own.inView(format.count(inView))}
          </p>
        </div>
      </div>
    </>
  )
}

const by = (right: number, down: number) => (map: MapLibre) => void map.panBy([right, down])
const MOVES: Record<string, (map: MapLibre) => void> = {
  ArrowLeft: by(-STEP_PX, 0),
  ArrowRight: by(STEP_PX, 0),
  ArrowUp: by(0, -STEP_PX),
  ArrowDown: by(0, STEP_PX),
  '+': map => void map.zoomIn(),
  '-': map => void map.zoomOut(),
}

/**
 * The area of the map behind an element. Edges take the shorter way round the world, so a long one gets a corner in between.
 */
function ringBehind(map: MapLibre, element: Element): [number, number][] {
  const [box, all] = [element.getBoundingClientRect(), map.getContainer().getBoundingClientRect()]
  const { lng: west, lat: north } = map.unproject([box.left - all.left, box.top - all.top])
  const { lng, lat: south } = map.unproject([box.right - all.left, box.bottom - all.top])
  const east = Math.min(lng, west + WORLD)
  const lngs = east - west < 180 ? [west, east] : [west, (west + east) / 2, east]
  const along = (lat: number) => lngs.map((lng): [number, number] => [lng, lat])
  return [...along(north), ...along(south).reverse()]
}
