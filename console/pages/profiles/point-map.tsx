import '../../styles/point-map.css'
import { useEffect, useRef } from 'react'
import { readMapColors } from '../../map/colors.ts'
import { boundsAround } from '../../map/geometry.ts'
import { useMap } from '../../map/use-map.ts'

const loadLayer = () => import('../map/trail-layer.ts')
const PADDING_PX = 40
/** With one position the map comes only as close as this, so that the country is recognized on a map without streets. */
const MAX_ZOOM = 7

/** A small map of positions, which moves to them when they change. `unseen` stands in its place where no map is drawn. */
export function PointMap({
  points,
  label,
  unseen,
}: {
  points: readonly { lat: number; lng: number }[]
  label: string
  unseen: string
}) {
  const container = useRef<HTMLElement>(null)
  const { opened, failed } = useMap(container, loadLayer)
  const key = points.map(({ lat, lng }) => `${lat} ${lng}`).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same positions, read again, leave the camera where it is
  useEffect(() => {
    if (!opened) return
    const { map } = opened
    const places = points.map(({ lat, lng }) => [lng, lat] as const)
    const describe = () => ({
      type: 'FeatureCollection' as const,
      features: places.map(place => ({
        type: 'Feature' as const,
        properties: {},
        geometry: { type: 'Point' as const, coordinates: [...place] },
      })),
    })
    const layer = opened.loaded.showLayer(map, 'read-points', describe, () => ({
      id: 'read-points',
      type: 'circle',
      source: 'read-points',
      paint: {
        'circle-radius': 7,
        'circle-color': readMapColors().trail,
        'circle-stroke-width': 2,
        'circle-stroke-color': '#fff',
      },
    }))
    layer.update()
    const bounds = boundsAround(places)
    if (bounds) map.fitBounds(bounds, { padding: PADDING_PX, maxZoom: MAX_ZOOM, animate: false })
    return () => void layer.close()
  }, [opened, key])
  return (
    <div className="map point-map">
      <section className="map-canvas" ref={container} aria-label={label} />
      {failed && <p className="map-note">{unseen}</p>}
    </div>
  )
}
