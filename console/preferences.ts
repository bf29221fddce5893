import { keep, onKept, readKept } from './storage.ts'

const KEY = 'fieldline.preferences'
/** The values to choose from. The first one is the default. */
const VALUES = {
  theme: ['system', 'light', 'dark'],
  language: ['system', 'en', 'de'],
  units: ['region', 'metric', 'imperial'],
  /** Whether to show the hint that the server can add streets to the map. */
  streetsHint: [true, false],
  /** Whether single keys such as J and K do something. */
  singleKeys: [true, false],
} as const

/** The choices of one person for this browser. The browser keeps them, and all tabs share them. */
export type Preferences = { [Name in keyof typeof VALUES]: (typeof VALUES)[Name][number] }

const listeners = new Set<() => void>()
let current = read()

function read(): Preferences {
  const kept = readKept(KEY, fields => fields) ?? {}
  const choices = Object.entries(VALUES).map(([name, values]) => [
    name,
    values.find(value => value === kept[name]) ?? values[0],
  ])
  return Object.fromEntries(choices)
}

const darkSystem = window.matchMedia('(prefers-color-scheme: dark)')

/** Sets the theme for the style sheets, and calls the listeners. */
function apply(): void {
  const system = darkSystem.matches ? 'dark' : 'light'
  document.documentElement.dataset.theme = current.theme === 'system' ? system : current.theme
  for (const listener of listeners) listener()
}

darkSystem.addEventListener('change', apply)
onKept(KEY, () => {
  current = read()
  apply()
})

export const getPreferences = (): Preferences => current

export function onPreferences(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Calls the listener whenever the theme changes, in whichever tab. */
export function onTheme(listener: () => void): () => void {
  const { dataset } = document.documentElement
  let shown = dataset.theme
  return onPreferences(() => {
    if (dataset.theme === shown) return
    shown = dataset.theme
    listener()
  })
}

export function setPreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change }
  keep(KEY, current)
  apply()
}

apply()
