/** What somebody chose for this browser: kept, and the same in all tabs. */
export interface Preferences {
  theme: 'system' | 'light' | 'dark'
  language: 'system' | 'en' | 'de'
}

const KEY = 'fieldline.preferences'
const DEFAULTS: Preferences = { theme: 'system', language: 'system' }
const listeners = new Set<() => void>()
let current = read()

function read(): Preferences {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>) }
  } catch {
    return DEFAULTS
  }
}

function apply(): void {
  document.documentElement.dataset.theme = current.theme
  for (const listener of listeners) listener()
}

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

export function setPreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change }
  localStorage.setItem(KEY, JSON.stringify(current))
  apply()
}

const darkSystem = window.matchMedia('(prefers-color-scheme: dark)')

export function onTheme(listener: () => void): () => void {
  const leave = onPreferences(listener)
  darkSystem.addEventListener('change', listener)
  return () => {
    leave()
    darkSystem.removeEventListener('change', listener)
  }
}

apply()
