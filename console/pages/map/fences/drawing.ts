import type { Map as MapLibre } from 'maplibre-gl'
import {
  type GeoJSONStoreFeatures,
  type HexColor,
  TerraDraw,
  TerraDrawCircleMode,
  TerraDrawPolygonMode,
  TerraDrawSelectMode,
} from 'terra-draw'
import { TerraDrawMapLibreGLAdapter } from 'terra-draw-maplibre-gl-adapter'
import { ringOf, type Shape } from '../../../map/areas.ts'
import { distanceM, shortWay } from '../../../map/geometry.ts'
import { readPalette } from '../../../map/palette.ts'

/** A tenth of a metre: more digits of a place that was drawn mean nothing. */
const DIGITS = 6
/** Between the corners by which a circle of 64 is taken. */
const QUARTER = 16
/** Of circles: the interface takes 1 m to 500 km. */
const RADIUS_RANGE_M = [1, 500_000] as const

export type Drawing = ReturnType<typeof openDrawing>

/**
 * One shape on the map, drawn with the mouse or a finger and then changed by its corners. `onShape` hears what somebody has
 * drawn or changed there, and not what is shown by `show`.
 */
export function openDrawing(map: MapLibre, onShape: (shape: Shape) => void) {
  let shown: Shape | null = null
  let isRemoved = false
  map.once('remove', () => {
    isRemoved = true
  })
  const draw = open()

  function open(): TerraDraw {
    const color = readPalette().fence as HexColor
    const surface = readPalette().labels.surface as HexColor
    const area = { fillColor: color, fillOpacity: 0.2, outlineColor: color, outlineWidth: 3 }
    /** Of a circle four, though each of its many is one. */
    const ofCorner = (px: number) => (feature: GeoJSONStoreFeatures) =>
      shown?.type === 'circle' && Number(feature.properties.index) % QUARTER !== 0 ? 0 : px
    const corner = {
      selectionPointColor: surface,
      selectionPointOutlineColor: color,
      selectionPointOutlineWidth: ofCorner(2),
      selectionPointWidth: ofCorner(6),
      midPointColor: color,
      midPointOutlineColor: surface,
      midPointOutlineWidth: 1,
      midPointWidth: 4,
    }
    const opened = new TerraDraw({
      adapter: new TerraDrawMapLibreGLAdapter({ map }),
      modes: [
        new TerraDrawCircleMode({ styles: area }),
        new TerraDrawPolygonMode({
          styles: {
            ...area,
            closingPointColor: surface,
            closingPointOutlineColor: color,
            closingPointOutlineWidth: 2,
            closingPointWidth: 6,
          },
        }),
        new TerraDrawSelectMode({
          allowManualDeselection: false,
          styles: {
            ...corner,
            selectedPolygonColor: color,
            selectedPolygonFillOpacity: 0.2,
            selectedPolygonOutlineColor: color,
            selectedPolygonOutlineWidth: 3,
          },
          // Deleting by a key would leave a form that says otherwise.
          keyEvents: null,
          flags: {
            circle: { feature: { draggable: true, coordinates: { resizable: 'center' } } },
            polygon: {
              feature: {
                draggable: true,
                coordinates: { draggable: true, midpoints: true, deletable: true },
              },
            },
          },
        }),
      ],
    })
    opened.start()
    opened.on('finish', id => {
      const feature = opened.getSnapshotFeature(id)
      if (feature?.geometry.type !== 'Polygon') return
      const ring = feature.geometry.coordinates[0] as [number, number][]
      const shape = feature.properties.mode === 'circle' ? toCircle(ring) : toPolygon(ring)
      // Not while the drawing is still at it: whoever hears of it may close it.
      queueMicrotask(() => {
        if (!opened.enabled) return
        // What is kept is what is seen.
        show(shape)
        onShape(shape)
      })
    })
    return opened
  }

  function clear(): void {
    // Nothing may be half drawn or selected when it goes.
    draw.setMode('select')
    draw.clear()
  }

  function show(shape: Shape | null): void {
    shown = shape
    clear()
    if (!shape) return
    const ring = ringOf(shape).map(([lng, lat]) => [round(lng), round(lat)])
    const properties: Record<string, string | number> =
      shape.type === 'circle'
        ? { mode: 'circle', radiusKilometers: shape.radius / 1_000 }
        : { mode: 'polygon' }
    const id = draw.getFeatureId()
    const [answer] = draw.addFeatures([
      { id, type: 'Feature', geometry: { type: 'Polygon', coordinates: [ring] }, properties },
    ])
    // A ring that crosses itself cannot be shown: the server says in words what is wrong with it.
    if (answer?.valid) draw.selectFeature(id)
  }

  /** Begins a new one in place of what is there. */
  function begin(kind: Shape['type']): void {
    shown = null
    clear()
    draw.setMode(kind)
  }

  return {
    show,
    begin,
    isDrawing: () => draw.enabled && draw.getModeState() === 'drawing',
    close() {
      // A map that went first took along what was drawn on it.
      if (draw.enabled && !isRemoved) draw.stop()
    },
  }
}

const round = (degrees: number) => Number(degrees.toFixed(DIGITS))
const toLng = (lng: number) => round(shortWay(lng))

function toPolygon(ring: readonly [number, number][]): Shape {
  return { type: 'polygon', coordinates: ring.map(([lng, lat]) => [toLng(lng), round(lat)]) }
}

/** Its middle, and how far it is from there to the north. */
function toCircle(ring: readonly [number, number][]): Shape {
  const lngs = ring.map(([lng]) => lng)
  const lats = ring.map(([, lat]) => lat)
  const [south, north] = [Math.min(...lats), Math.max(...lats)]
  const center = { lat: round((south + north) / 2), lng: toLng((Math.min(...lngs) + Math.max(...lngs)) / 2) }
  const radius = Math.round(distanceM(center, { lat: north, lng: center.lng }))
  const [least, most] = RADIUS_RANGE_M
  return { type: 'circle', center, radius: Math.min(most, Math.max(least, radius)) }
}
