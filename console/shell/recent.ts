/** What somebody chose lately: names of the organization, so they go when whoever it was signs out. */
export interface Recent {
  id: string
  name: string
  hint?: string
  /** Absent for what is found among pages and actions. */
  to?: string
}

const KEY = 'fieldline.recent'
const MAX_KEPT = 8

/** Of one person in one organization; somebody else's are none. */
export function readRecent(whose: string): Recent[] {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? 'null') as { whose: string; chosen: Recent[] } | null
    return kept?.whose === whose ? kept.chosen : []
  } catch {
    return []
  }
}

export function keepRecent(whose: string, entry: Recent): void {
  const others = readRecent(whose).filter(({ id }) => id !== entry.id)
  localStorage.setItem(KEY, JSON.stringify({ whose, chosen: [entry, ...others].slice(0, MAX_KEPT) }))
}

export function forgetRecent(): void {
  localStorage.removeItem(KEY)
}
