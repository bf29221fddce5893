const MINUTE_MS = 60_000
const ZERO = 48
const POINT = 46
const Z = 90

/**
 * Writes times in ISO 8601 with milliseconds, in UTC. Consecutive times share the text of their minute, which takes a
 * tenth of Date's own time. Two alternating series of times therefore need one writer each.
 */
export function createIso() {
  let minute = Number.NaN
  /** The text up to the seconds. */
  let prefix = ''

  function restOf(time: number): number {
    const current = Math.floor(time / MINUTE_MS)
    if (current !== minute) {
      minute = current
      prefix = new Date(current * MINUTE_MS).toISOString().slice(0, -'00.000Z'.length)
    }
    return time - current * MINUTE_MS
  }

  return {
    toIso(time: number): string {
      const rest = restOf(time)
      const seconds = Math.floor(rest / 1000)
      const milliseconds = rest - seconds * 1000
      const padding = milliseconds < 10 ? '00' : milliseconds < 100 ? '0' : ''
      return `${prefix}${seconds < 10 ? '0' : ''}${seconds}.${padding}${milliseconds}Z`
    },

    /** Writes the time as bytes; returns their end. */
    writeIso(time: number, out: Uint8Array, from: number): number {
      const rest = restOf(time)
      let at = from
      for (let n = 0; n < prefix.length; n++) out[at++] = prefix.charCodeAt(n)
      const seconds = (rest / 1000) | 0
      const milliseconds = rest - seconds * 1000
      out[at++] = ZERO + ((seconds / 10) | 0)
      out[at++] = ZERO + (seconds % 10)
      out[at++] = POINT
      out[at++] = ZERO + ((milliseconds / 100) | 0)
      out[at++] = ZERO + (((milliseconds / 10) | 0) % 10)
      out[at++] = ZERO + (milliseconds % 10)
      out[at++] = Z
      return at
    },
  }
}

export const { toIso } = createIso()
