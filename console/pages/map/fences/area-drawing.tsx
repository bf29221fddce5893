import '../../../styles/fences.css'
import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect, useRef } from 'react'
import { useEscape, useReturnFocus } from '../../../parts/focus.ts'
import { ActionButton } from '../../../parts/parts.tsx'
import { useTexts } from '../../../texts/texts.tsx'
import { areaOfRing } from './area.ts'
import { openDrawing } from './drawing.ts'

interface Props {
  map: MapLibre
  onDone: (area: string) => void
  onCancel: () => void
}

/** Somebody draws around those that the list shall show. */
export default function AreaDrawing({ map, onDone, onCancel }: Props) {
  const { fences: t, form } = useTexts()
  const done = useRef(onDone)
  done.current = onDone
  useReturnFocus()
  useEscape(onCancel)
  useEffect(() => {
    const drawing = openDrawing(map, shape => {
      if (shape.type === 'polygon') done.current(areaOfRing(shape.coordinates.slice(0, -1)))
    })
    drawing.begin('polygon')
    return () => drawing.close()
  }, [map])
  return (
    <div className="map-note draw-note" role="status">
      <p>{t.drawArea}</p>
      <ActionButton onPress={onCancel}>{form.cancel}</ActionButton>
    </div>
  )
}
