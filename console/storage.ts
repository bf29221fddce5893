/**
 * What this browser keeps, the same in all tabs. An older version may have written it, or somebody by hand, and a browser may
 * keep nothing at all: whoever reads says what fits, and what does not is as if it were not there.
 */

/** The fields of what is kept; `read` answers null, or throws, where they are not what it knows. */
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
    // It is full, or nothing may be kept: then it holds as long as this page.
  }
}

export function forget(key: string): void {
  try {
    localStorage.removeItem(key)
  } catch {}
}

/** Hears of what another tab keeps under a name, or of everything being forgotten. */
export function onKept(key: string, listener: () => void): void {
  window.addEventListener('storage', event => {
    if (event.key === key || event.key === null) listener()
  })
}
