import type { Map as MapLibre } from 'maplibre-gl'
import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { useLocation } from 'react-router'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { useLive } from '../../live/live.tsx'
import type { Overlay } from '../../live/overlay.ts'
import type { createOverview } from '../../live/overview.ts'
import { centerAround } from '../../map/center-around.ts'
import { readMapColors } from '../../map/colors.ts'
import { useMap } from '../../map/use-map.ts'
import { IconButton } from '../../parts/parts.tsx'
import { useAfterPaint } from '../../parts/use-after-paint.ts'
import { onTheme } from '../../preferences.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import type { Hovered } from './hover-card.tsx'
import { showHubs } from './hubs-layer.ts'
import { useHubs, useTrail } from './subject-queries.ts'
import { showTrail } from './trail-layer.ts'
import { keepViewInAddress, readView } from './view-address.ts'

interface Props {
  isShown: (slot: number) => boolean
  /** Whether the filters leave any subject. */
  isAnybody: boolean
  subject: string | null
  isDebounced: boolean
  follow: boolean
  /** Whether a geofence has the first view and the clicks. */
  isElsewhere: boolean
  isDrawing: boolean
  onMap: (map: MapLibre | null) => void
  onSelect: (subjectId: string | null, point: { x: number; y: number }) => void
  onStray: () => void
  /** More buttons beside those of the map. */
  children?: ReactNode
}

const HoverCard = lazyWithRetry(() => import('./hover-card.tsx'))

const loadDrawing = async () => {
  const [overlay, overview] = await Promise.all([
    import('../../live/overlay.ts'),
    import('../../live/overview.ts'),
  ])
  return { ...overlay, ...overview }
}

/** The map. It is opened once, and changed by its props. */
export function MapView(props: Props) {
  const { isShown, isAnybody, isDebounced, follow, isElsewhere, isDrawing } = props
  const { onMap, onSelect, onStray, children } = props
  // The panel renders first: a frame of the map takes longer than everything else that a click does.
  const subject = useAfterPaint(props.subject)
  const texts = useTexts()
  const format = useFormat()
  const { fleet, known, state } = useLive()
  const container = useRef<HTMLElement>(null)
  const markers = useRef<HTMLCanvasElement>(null)
  const labels = useRef<HTMLCanvasElement>(null)
  const { opened, failed } = useMap(container, loadDrawing)
  const map = opened?.map
  const [overlay, setOverlay] = useState<Overlay | null>(null)
  const [hovered, setHovered] = useState<Hovered | null>(null)
  const showAll = useRef<ReturnType<typeof createOverview>>(null)
  const handlers = useRef({ onSelect, onStray, isShown, write: format.count })
  handlers.current = { onSelect, onStray, isShown, write: format.count }
  const { data: hubs } = useHubs()
  const { key: entry, hash } = useLocation()
  const trail = useTrail(subject, isDebounced && subject === props.subject)

  useEffect(() => {
    if (!opened || !markers.current || !labels.current) return
    const { map, loaded } = opened
    const overlay = loaded.createOverlay({
      map,
      fleet,
      markers: markers.current,
      labels: labels.current,
      colors: readMapColors(),
      isShown: slot => handlers.current.isShown(slot),
      writeCount: count => handlers.current.write(count),
      onSelect: (id, point) => handlers.current.onSelect(id, point),
      onHover: (id, { x, y }) =>
        setHovered(id === null ? null : { id, x, y, width: map.getContainer().clientWidth }),
    })
    const unfollow = onTheme(() => overlay.set({ colors: readMapColors() }))
    const onStray = () => {
      seen.current = true
      handlers.current.onStray()
    }
    // The arrow keys move the view as a drag does.
    const onKey = ({ key }: KeyboardEvent) => key.startsWith('Arrow') && onStray()
    map.on('dragstart', onStray)
    map.getCanvas().addEventListener('keydown', onKey)
    showAll.current = loaded.createOverview(map, fleet)
    const view = keepViewInAddress(map)
    kept.current = view
    setOverlay(overlay)
    return () => {
      setOverlay(null)
      unfollow()
      map.off('dragstart', onStray)
      map.getCanvas().removeEventListener('keydown', onKey)
      overlay.close()
      view.close()
    }
  }, [opened, fleet])

  useEffect(() => onMap(map ?? null), [map, onMap])
  useEffect(() => overlay?.set({ picks: !isDrawing }), [overlay, isDrawing])
  useEffect(() => overlay?.set({ isShown }), [overlay, isShown])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are others with it
  useEffect(() => overlay?.set({ colors: readMapColors() }), [overlay, state.name])
  useEffect(() => overlay?.set({ selected: subject, follow }), [overlay, subject, follow])
  const kept = useRef<ReturnType<typeof keepViewInAddress>>(null)
  /** Whether somebody has moved the map: after that no filter moves it. */
  const seen = useRef(false)
  const firstEntry = useRef(entry)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each navigation writes an address, without the view or with another one
  useEffect(() => {
    const view = entry === firstEntry.current ? null : readView(hash)
    if (!map || !view) return kept.current?.rewrite()
    seen.current = true
    map.jumpTo(view, { originalEvent: true })
  }, [entry])
  /** The last subject that the map moved to. A new map with the same view does not move there again. */
  const goneTo = useRef<string>(null)
  useEffect(() => {
    if (!overlay || !known || subject === goneTo.current) return
    if (subject && fleet.slotOf(subject) === undefined) return
    goneTo.current = subject
    if (!subject) return
    // A reloaded page shows the view that somebody chose after they opened the subject.
    if (!seen.current && readView(location.hash)) return
    overlay.goTo(subject)
    kept.current?.forget()
    seen.current = true
  }, [overlay, known, subject, fleet])
  useEffect(() => {
    // The first view shows everything, or the subject of the address. Without subjects it waits for the first one.
    if (!overlay || !known || seen.current) return
    const view = readView(location.hash)
    if (map && view && !isElsewhere) {
      map.jumpTo(view)
      seen.current = true
      return
    }
    const isFitted =
      !isElsewhere && isAnybody && showAll.current?.(handlers.current.isShown, { isFirst: true }) === true
    seen.current = isElsewhere || isFitted
    if (isFitted) setFitted({ isShown: handlers.current.isShown, size: fleet.ids.length })
  }, [map, overlay, fleet, known, isElsewhere, isAnybody])
  /** The filters of the first view, which grows with the fleet until somebody does anything, and the number of its subjects. */
  const [fitted, setFitted] = useState<{ isShown: Props['isShown']; size: number } | null>(null)
  const size = fitted?.size ?? 0
  const isGrowing = fitted?.isShown === isShown && !props.subject && !isElsewhere && !isDrawing
  useEffect(() => {
    if (!isGrowing) return setFitted(null)
    if (!map) return
    let end = () => {}
    let isOver = false
    const grow = () => showAll.current?.(handlers.current.isShown, { isFirst: true, glides: true })
    // Without it the map stays as it is.
    void import('./arriving.ts').then(
      ({ fitWhileArriving }) => {
        if (!isOver) end = fitWhileArriving(map, fleet, size, grow)
      },
      () => {},
    )
    return () => {
      isOver = true
      end()
    }
  }, [isGrowing, size, map, fleet])
  useEffect(() => (map ? showHubs(map, hubs ?? []) : undefined), [map, hubs])
  useEffect(
    () => (map ? showTrail(map, trail.data ?? [], fleet, subject) : undefined),
    [map, trail.data, fleet, subject],
  )

  /** Zooms around the selected subject, so that it stays in view; else around the center. */
  const zoomBy = (levels: number) => {
    const around = subject ? overlay?.placeInView(subject) : undefined
    map?.easeTo({ zoom: map.getZoom() + levels, ...(around && { around }) }, { originalEvent: true })
  }
  useEffect(() => {
    if (!map || !overlay || !subject) return
    // The wheel zooms around the pointer, and a selected subject would leave the screen.
    map.setTransformCameraUpdate(({ zoom }) => {
      const place = map.scrollZoom.isActive() ? overlay.placeInView(subject) : undefined
      return place ? { center: centerAround(map, place, zoom) } : {}
    })
    return () => map.setTransformCameraUpdate(null)
  }, [map, overlay, subject])

  return (
    <div className="map">
      <section className="map-canvas" ref={container} aria-label={texts.map.label} />
      <canvas className="map-layer" ref={markers} />
      <canvas className="map-layer" ref={labels} />
      {hovered && hovered.id !== props.subject && (
        <Suspense>
          <HoverCard {...hovered} />
        </Suspense>
      )}
      {failed && <p className="map-note">{texts.map.noWebgl}</p>}
      <div className="map-buttons">
        <IconButton icon="all" label={texts.map.overview} onPress={() => showAll.current?.(isShown)} />
        <IconButton icon="plus" label={texts.map.zoomIn} onPress={() => zoomBy(1)} />
        <IconButton icon="minus" label={texts.map.zoomOut} onPress={() => zoomBy(-1)} />
        {children}
      </div>
    </div>
  )
}
