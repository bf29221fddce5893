import { keep, onKept, readKept } from './storage.ts'

const KEY = 'fieldline.preferences'
/** What there is to choose; the first is what nobody has chosen. */
const VALUES = {
  theme: ['system', 'light', 'dark'],
  language: ['system', 'en', 'de'],
  units: ['region', 'metric', 'imperial'],
  /** Whether it is said that the server can give the map streets. */
  streetsHint: [true, false],
} as const

/** What somebody chose for this browser: kept, and the same in all tabs. */
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

/** Tells the style sheets which theme it is, and whoever draws. */
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
  keep(KEY, current)
  apply()
}

apply()
