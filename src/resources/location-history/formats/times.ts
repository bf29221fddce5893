const BLOCK_BYTES = 64 * 1024
/** With 7 bits in a byte this is more than the milliseconds of a century, with a sign. */
const LONGEST_BYTES = 7

/**
 * Stores times in a few bytes each, as differences in milliseconds: two bytes for one point a second, so that the times
 * of a million points take 2 MB while a client reads the file slowly.
 */
export function createTimes() {
  const blocks: Uint8Array[] = []
  let used = BLOCK_BYTES
  let last = 0
  let count = 0

  return {
    get count() {
      return count
    },

    add(time: number): void {
      if (used + LONGEST_BYTES > BLOCK_BYTES) {
        blocks.push(new Uint8Array(BLOCK_BYTES))
        used = 0
      }
      const block = blocks.at(-1) as Uint8Array
      const difference = time - last
      // The sign is the lowest bit. No bit operations, because they end at 32 bits.
      let rest = difference < 0 ? -difference * 2 - 1 : difference * 2
      for (; rest >= 128; rest = Math.floor(rest / 128)) block[used++] = 128 + (rest % 128)
      block[used++] = rest
      last = time
      count++
    },

    *all(): Generator<number> {
      let time = 0
      let left = count
      for (const block of blocks) {
        for (let at = 0; left > 0 && at + LONGEST_BYTES <= BLOCK_BYTES; left--) {
          let value = 0
          let factor = 1
          let byte = block[at++] as number
          for (; byte >= 128; byte = block[at++] as number) {
            value += (byte - 128) * factor
            factor *= 128
          }
          value += byte * factor
          time += value % 2 === 1 ? -(value + 1) / 2 : value / 2
          yield time
        }
      }
    },
  }
}
