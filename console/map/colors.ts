import type { LabelColors } from './labels.ts'
import type { MarkerColors } from './markers.ts'

/** The colours of the map, from the custom properties of the page. */
export interface MapColors {
  markers: MarkerColors
  labels: LabelColors
  /** For areas that are not loaded yet: neither land nor water. */
  blank: string
  land: string
  water: string
  border: string
  grid: string
  trail: string
  text: string
  /** One for each subject in a playback. */
  tracks: readonly string[]
  bad: string
  fence: string
}

const TRACKS = ['track-1', 'track-2', 'track-3', 'track-4', 'track-5', 'track-6']

export function readMapColors(): MapColors {
  const style = getComputedStyle(document.documentElement)
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim()
  const states = [read('moving-mark'), read('idle-mark'), read('offline-mark')] as const
  return {
    markers: {
      states: [toRgb(states[0]), toRgb(states[1]), toRgb(states[2])],
      halo: toRgb(read('map-halo')),
      accent: toRgb(read('accent')),
    },
    labels: { text: read('map-label'), halo: read('map-halo'), surface: read('surface'), states },
    blank: read('map-blank'),
    land: read('map-land'),
    water: read('map-water'),
    border: read('map-border'),
    grid: read('map-grid'),
    trail: read('accent'),
    text: read('map-label'),
    tracks: TRACKS.map(read),
    bad: read('bad'),
    fence: read('fence'),
  }
}

/** `#rrggbb`, or `#rgb` as minified style sheets have it, in shares of 1. */
function toRgb(color: string): readonly [number, number, number] {
  const digits =
    color.length === 4 ? [...color.slice(1)].map(digit => digit + digit).join('') : color.slice(1)
  const value = Number.parseInt(digits, 16)
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255]
}
