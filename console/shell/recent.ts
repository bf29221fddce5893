import { forget, isFields, keep, readKept } from '../storage.ts'

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
  const kept = readKept(KEY, ({ whose: owner, chosen }) =>
    owner === whose && Array.isArray(chosen) ? chosen.filter(isRecent) : null,
  )
  return kept?.slice(0, MAX_KEPT) ?? []
}

const isRecent = (entry: unknown): entry is Recent =>
  isFields(entry) &&
  [entry.id, entry.name, entry.hint ?? '', entry.to ?? ''].every(one => typeof one === 'string')

export function keepRecent(whose: string, entry: Recent): void {
  const others = readRecent(whose).filter(({ id }) => id !== entry.id)
  keep(KEY, { whose, chosen: [entry, ...others].slice(0, MAX_KEPT) })
}

export function forgetRecent(): void {
  forget(KEY)
}
