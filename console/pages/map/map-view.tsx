import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect, useRef, useState } from 'react'
import { useLive } from '../../live/live.tsx'
import type { Overlay } from '../../map/overlay.ts'
import { readPalette } from '../../map/palette.ts'
import { IconButton } from '../../parts/parts.tsx'
import { onTheme } from '../../preferences.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { showHubs } from './hubs-layer.ts'
import { useHubs, useTrail } from './queries.ts'
import { showTrail } from './trail-layer.ts'

interface Props {
  isShown: (slot: number) => boolean
  subject: string | null
  follow: boolean
  onSelect: (subjectId: string | null) => void
  onStray: () => void
}

const RETRY_MS = 3_000
const hasWebgl = () => document.createElement('canvas').getContext('webgl2') !== null

/** The map, opened once; what is given to it changes what it shows. */
export function MapView({ isShown, subject, follow, onSelect, onStray }: Props) {
  const texts = useTexts()
  const format = useFormat()
  const { fleet, known } = useLive()
  const container = useRef<HTMLElement>(null)
  const markers = useRef<HTMLCanvasElement>(null)
  const labels = useRef<HTMLCanvasElement>(null)
  const [opened, setOpened] = useState<{ map: MapLibre; overlay: Overlay } | null>(null)
  const [failed, setFailed] = useState(false)
  const handlers = useRef({ onSelect, onStray, isShown, write: format.count })
  handlers.current = { onSelect, onStray, isShown, write: format.count }
  const { data: hubs } = useHubs()
  const trail = useTrail(subject)

  useEffect(() => {
    let close = () => {}
    let gone = false
    const open = async () => {
      const [{ openMap }, { createOverlay }, { createStyle, refineWorld }] = await Promise.all([
        import('../../map/maplibre.ts'),
        import('../../map/overlay.ts'),
        import('../../map/basemap.ts'),
      ])
      if (gone || !container.current || !markers.current || !labels.current) return
      const map = await openMap(container.current, readPalette())
      if (gone) return map.remove()
      const overlay = createOverlay({
        map,
        fleet,
        markers: markers.current,
        labels: labels.current,
        palette: readPalette(),
        isShown: slot => handlers.current.isShown(slot),
        writeCount: count => handlers.current.write(count),
        onSelect: id => handlers.current.onSelect(id),
      })
      const unrefine = refineWorld(map)
      const unfollow = onTheme(() => {
        overlay.set({ palette: readPalette() })
        void createStyle(readPalette()).then(style => map.setStyle(style))
      })
      map.on('dragstart', () => handlers.current.onStray())
      close = () => {
        unfollow()
        unrefine()
        overlay.close()
        map.remove()
      }
      setOpened({ map, overlay })
    }
    const attempt = () => {
      open().catch(() => {
        // Without WebGL it is drawn by no other attempt; without the server by the next.
        if (!hasWebgl()) setFailed(true)
        else if (!gone) timer = setTimeout(attempt, RETRY_MS)
      })
    }
    let timer: ReturnType<typeof setTimeout> | undefined
    attempt()
    return () => {
      gone = true
      clearTimeout(timer)
      setOpened(null)
      close()
    }
  }, [fleet])

  useEffect(() => opened?.overlay.set({ isShown }), [opened, isShown])
  useEffect(() => opened?.overlay.set({ selected: subject, follow }), [opened, subject, follow])
  useEffect(() => {
    if (!opened || !known) return
    // The first look is at everything, or at what the address names.
    if (subject && fleet.slotOf(subject) !== undefined) opened.overlay.goTo(subject)
    else if (!seen.current) opened.overlay.showAll(undefined, false)
    seen.current = true
  }, [opened, known, subject, fleet])
  const seen = useRef(false)
  useEffect(() => (opened ? showHubs(opened.map, hubs ?? []) : undefined), [opened, hubs])
  useEffect(
    () => (opened ? showTrail(opened.map, trail.data ?? [], fleet, subject) : undefined),
    [opened, trail.data, fleet, subject],
  )

  return (
    <div className="map">
      <section className="map-canvas" ref={container} aria-label={texts.map.label} />
      <canvas className="map-layer" ref={markers} />
      <canvas className="map-layer" ref={labels} />
      {failed && <p className="map-note">{texts.map.noWebgl}</p>}
      <div className="map-buttons">
        <IconButton icon="all" label={texts.map.overview} onPress={() => opened?.overlay.showAll()} />
        <IconButton icon="plus" label={texts.map.zoomIn} onPress={() => opened?.map.zoomIn()} />
        <IconButton icon="minus" label={texts.map.zoomOut} onPress={() => opened?.map.zoomOut()} />
      </div>
    </div>
  )
}
