import type { Feature, FeatureCollection } from 'geojson'
import type { Map as MapLibre } from 'maplibre-gl'
import { readMapColors } from '../../map/colors.ts'
import { showLayer } from '../map/trail-layer.ts'
import type { HistoryPoint } from './tracks.ts'

export interface TrackLine {
  /** The index of its colour. */
  color: number
  lines: [number, number][][]
  stops: readonly { lat: number; lng: number }[]
}

const collect = (features: Feature[]): FeatureCollection => ({ type: 'FeatureCollection', features })
const pointAt = ({ lat, lng }: { lat: number; lng: number }, color: string): Feature => ({
  type: 'Feature',
  properties: { color },
  geometry: { type: 'Point', coordinates: [lng, lat] },
})

/** Draws the tracks of the whole day below the markers, with stops and anomalies. */
export function showTracks(
  map: MapLibre,
  tracks: readonly TrackLine[],
  anomalies: readonly HistoryPoint[],
): () => void {
  const colorOf = ({ color }: TrackLine) => readMapColors().tracks[color] as string
  const ways = () =>
    collect(
      tracks.map(track => ({
        type: 'Feature',
        properties: { color: colorOf(track) },
        geometry: { type: 'MultiLineString', coordinates: track.lines },
      })),
    )
  const round = { 'line-cap': 'round', 'line-join': 'round' } as const
  const layers = [
    showLayer(map, 'tracks', ways, () => [
      {
        id: 'track-halos',
        type: 'line',
        source: 'tracks',
        layout: round,
        paint: { 'line-color': readMapColors().labels.halo, 'line-width': 6, 'line-opacity': 0.8 },
      },
      {
        id: 'tracks',
        type: 'line',
        source: 'tracks',
        layout: round,
        paint: { 'line-color': ['get', 'color'], 'line-width': 3 },
      },
    ]),
    showLayer(
      map,
      'track-stops',
      () => collect(tracks.flatMap(track => track.stops.map(stop => pointAt(stop, colorOf(track))))),
      () => ({
        id: 'track-stops',
        type: 'circle',
        source: 'track-stops',
        paint: {
          'circle-radius': 5,
          'circle-color': readMapColors().labels.surface,
          'circle-stroke-width': 2.5,
          'circle-stroke-color': ['get', 'color'],
        },
      }),
    ),
    showLayer(
      map,
      'track-anomalies',
      () => collect(anomalies.map(point => pointAt(point, readMapColors().bad))),
      () => ({
        id: 'track-anomalies',
        type: 'circle',
        source: 'track-anomalies',
        paint: {
          'circle-radius': 4,
          'circle-color': ['get', 'color'],
          'circle-stroke-width': 1.5,
          'circle-stroke-color': readMapColors().labels.surface,
        },
      }),
    ),
  ]
  return () => {
    for (const layer of layers) layer.close()
  }
}
