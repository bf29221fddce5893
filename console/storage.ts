/**
 * The browser's storage, which all tabs share. Its content may come from an older version or from somebody's hand, and a
 * browser may keep nothing at all: each reader checks the content, and content that does not fit counts as absent.
 */

/** Reads the fields under a key. `read` returns null, or throws, when the fields do not fit. */
export function readKept<T>(key: string, read: (fields: Record<string, unknown>) => T | null): T | null {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? 'null')
    return isFields(kept) ? read(kept) : null
  } catch {
    return null
  }
}

export const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

export function keep(key: string, fields: object): void {
  try {
    localStorage.setItem(key, JSON.stringify(fields))
  } catch {
    // The storage is full or forbidden: the value holds as long as this page.
  }
}

export function forget(key: string): void {
  try {
    localStorage.removeItem(key)
  } catch {}
}

/** The keys that begin with this one. */
export function keysFrom(key: string): string[] {
  try {
    return Object.keys(localStorage).filter(one => one.startsWith(key))
  } catch {
    return []
  }
}

/** Calls the listener when another tab writes this key or one that begins with it, or clears the storage. */
export function onKept(key: string, listener: () => void): void {
  window.addEventListener('storage', event => {
    if (event.key === null || event.key.startsWith(key)) listener()
  })
}
