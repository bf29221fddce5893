import { forget, isFields, keep, readKept } from '../storage.ts'

/** A recent choice in the palette. It may hold names of the organization, so signing out deletes it. */
export interface Recent {
  id: string
  name: string
  hint?: string
  /** Absent for pages and actions, which are found by their `id`. */
  to?: string
}

const KEY = 'fieldline.recent'
const MAX_KEPT = 8

/** The recent choices of one person in one organization; empty when those of another person are stored. */
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
