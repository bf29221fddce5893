import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect, useMemo, useRef } from 'react'
import { useLive } from '../../live/live.tsx'
import type { createOverview } from '../../live/overview.ts'
import { boundsAround, boundsAroundWays } from '../../map/geometry.ts'
import { useMap } from '../../map/use-map.ts'
import { IconButton } from '../../parts/parts.tsx'
import { useTexts } from '../../texts/texts.tsx'
import { useHubs } from '../map/subject-queries.ts'
import type { PlayedSubject } from './played-subject.ts'
import type { Player } from './player.ts'
import { usePlaybackTexts } from './texts.ts'
import { type HistoryPoint, linesOf } from './tracks.ts'

const PADDING_PX = 48
/** The surroundings of a hub. */
const AREA_ZOOM = 12
const loadDrawing = async () => ({
  ...(await import('./track-layers.ts')),
  ...(await import('./track-markers.ts')),
  ...(await import('../../live/overview.ts')),
})

interface Props {
  shown: readonly PlayedSubject[]
  anomalies: readonly HistoryPoint[]
  player: Player
}

/** The tracks of the day, and the position of each subject at the time of the player. */
export function TrackMap({ shown, anomalies, player }: Props) {
  const texts = useTexts()
  const t = usePlaybackTexts()
  const container = useRef<HTMLElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const { opened, failed } = useMap(container, loadDrawing)
  const lines = useMemo(
    () =>
      shown.map(({ track, color, trips }) => ({ color, lines: linesOf(track), stops: trips?.stops ?? [] })),
    [shown],
  )
  useEffect(() => opened?.loaded.showTracks(opened.map, lines, anomalies), [opened, lines, anomalies])
  useEffect(() => {
    if (opened && canvas.current) return opened.loaded.drawMarkers(opened.map, canvas.current, player, shown)
  }, [opened, player, shown])

  /** The first view of new tracks, and of newly shown anomalies, shows all of them. */
  const key = `${shown.map(({ key }) => key).join(' ')} ${anomalies.length > 0}`
  const showAll = (animate: boolean) => {
    const ways = lines.flatMap(one => one.lines)
    const bounds = boundsAroundWays([...ways, ...anomalies.map(({ lng, lat }) => [[lng, lat] as const])])
    if (!opened || !bounds) return
    // The chart below has just taken its space.
    opened.map.resize()
    opened.map.fitBounds(bounds, { padding: PADDING_PX, maxZoom: 16, animate, duration: 500 })
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same tracks, loaded again, leave the camera where it is
  useEffect(() => showAll(false), [opened, key])

  useArea(opened, shown.length === 0)

  return (
    <div className="map">
      <section className="map-canvas" ref={container} aria-label={t.map} />
      <canvas className="map-layer" ref={canvas} />
      {failed && <p className="map-note">{t.noWebgl}</p>}
      <div className="map-buttons">
        <IconButton icon="all" label={texts.map.overview} onPress={() => showAll(true)} />
        <IconButton icon="plus" label={texts.map.zoomIn} onPress={() => opened?.map.zoomIn()} />
        <IconButton icon="minus" label={texts.map.zoomOut} onPress={() => opened?.map.zoomOut()} />
      </div>
    </div>
  )
}

interface OpenedMap {
  map: MapLibre
  loaded: { createOverview: typeof createOverview }
}

/** Before the first track the map shows where the fleet is, or else the hubs. */
function useArea(opened: OpenedMap | null, isEmpty: boolean): void {
  const { fleet, known } = useLive()
  const { data: hubs } = useHubs()
  const isPlaced = useRef(false)
  useEffect(() => {
    if (!isEmpty) isPlaced.current = true
    if (!opened || !known || isPlaced.current) return
    const { map, loaded } = opened
    const isShown = loaded.createOverview(map, fleet)(() => true, { isFirst: true })
    const bounds = isShown || !hubs ? null : boundsAround(hubs.map(({ lng, lat }) => [lng, lat]))
    if (bounds) map.fitBounds(bounds, { padding: PADDING_PX, maxZoom: AREA_ZOOM, animate: false })
    isPlaced.current = isShown || bounds !== null
  }, [opened, known, hubs, fleet, isEmpty])
}
