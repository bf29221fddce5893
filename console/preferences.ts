import type { Units } from './texts/format.ts'

/** What somebody chose for this browser: kept, and the same in all tabs. */
export interface Preferences {
  theme: 'system' | 'light' | 'dark'
  language: 'system' | 'en' | 'de'
  units: 'region' | Units
  /** Whether it is said that the server can give the map streets. */
  streetsHint: boolean
}

const KEY = 'fieldline.preferences'
const DEFAULTS: Preferences = { theme: 'system', language: 'system', units: 'region', streetsHint: true }
const listeners = new Set<() => void>()
let current = read()

function read(): Preferences {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>) }
  } catch {
    return DEFAULTS
  }
}

const darkSystem = window.matchMedia('(prefers-color-scheme: dark)')

/** Tells the style sheets which theme it is, and whoever draws. */
function apply(): void {
  const system = darkSystem.matches ? 'dark' : 'light'
  document.documentElement.dataset.theme = current.theme === 'system' ? system : current.theme
  for (const listener of listeners) listener()
}

darkSystem.addEventListener('change', apply)
window.addEventListener('storage', event => {
  if (event.key !== KEY) return
  current = read()
  apply()
})

export const getPreferences = (): Preferences => current

export function onPreferences(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Hears of another theme, whoever changed it. */
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
  localStorage.setItem(KEY, JSON.stringify(current))
  apply()
}

apply()
