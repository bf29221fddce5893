import { readFileSync } from 'node:fs'

/** A secret that may be replaced while the process runs, so that its users read it whenever they need it. */
export interface Secret {
  readonly current: string
}

/** A change of the file counts this long after it at the latest. */
const READ_EVERY_MS = 1_000

/**
 * A secret in a file, as orchestrators mount them. The end of the line does not belong to it. If the file cannot be read,
 * or is empty while it is being replaced, the last value stays, and `onIgnored` hears why, once. The first read throws.
 */
export function openSecretFile(path: string, onIgnored: (fault: string) => void = () => {}): Secret {
  const read = () => readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  let value = read()
  let readAt = performance.now()
  let lastFault: string | null = null
  const setFault = (fault: string | null) => {
    if (fault !== null && fault !== lastFault) onIgnored(fault)
    lastFault = fault
  }
  return {
    get current() {
      if (performance.now() - readAt < READ_EVERY_MS) return value
      readAt = performance.now()
      try {
        const next = read()
        setFault(next === '' ? 'is empty' : null)
        value = next || value
      } catch (error) {
        // An orchestrator may take the file away for a moment.
        setFault(`cannot be read (${(error as NodeJS.ErrnoException).code})`)
      }
      return value
    },
  }
}

/** Secrets of which the first signs and seals, and all verify and open, so that they can be replaced one by one. */
export interface Secrets {
  readonly current: readonly string[]
}

/** Parts are separated by commas or lines. */
const splitList = (text: string) => text.split(/[,\r\n]/).flatMap(part => part.trim() || [])

/** Reads a list from a secret. A new list that `isValid` rejects is ignored, which `onIgnored` hears once. */
export function toSecrets(
  secret: Secret,
  options: {
    isValid: (secrets: readonly string[]) => boolean
    split?: (text: string) => readonly string[]
    onIgnored: () => void
  },
): Secrets {
  const { isValid, split = splitList, onIgnored } = options
  let text = secret.current
  let secrets = split(text)
  return {
    get current() {
      if (secret.current === text) return secrets
      text = secret.current
      const next = split(text)
      if (isValid(next)) secrets = next
      else onIgnored()
      return secrets
    },
  }
}

/** A secret of which a new value with a fault is ignored. `onIgnored` hears the fault, once for each such value. */
export function keepFaultless(
  secret: Secret,
  faultOf: (text: string) => string | null,
  onIgnored: (fault: string) => void,
): Secret {
  let seen = secret.current
  let value = seen
  return {
    get current() {
      const next = secret.current
      if (next === seen) return value
      seen = next
      const fault = faultOf(next)
      if (fault === null) value = next
      else onIgnored(fault)
      return value
    },
  }
}

/** Derives a value from each secret, again when the secrets have changed. */
export function deriveEach<T>(given: string | Secrets, make: (secret: string) => T): () => readonly T[] {
  const secrets = typeof given === 'string' ? { current: [given] } : given
  let from = secrets.current
  let derived = from.map(make)
  return () => {
    const { current } = secrets
    if (current !== from) {
      from = current
      derived = current.map(make)
    }
    return derived
  }
}
