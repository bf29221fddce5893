/** A set of whole numbers, which may be millions: a bit for each number up to the highest, outside the heap. */
export interface IndexSet {
  add(index: number): void
  has(index: number): boolean
  /** The highest number of the set, or -1 if it is empty. */
  max(): number
}

/** Accepts numbers from 0 to below `limit`, and ignores others. */
export function createIndexSet(limit: number): IndexSet {
  let bits = new Uint8Array(1024)
  let max = -1
  return {
    add(index) {
      if (!(index >= 0 && index < limit && Number.isInteger(index))) return
      const at = index >> 3
      if (at >= bits.length) {
        const larger = new Uint8Array(Math.max(bits.length * 2, at + 1))
        larger.set(bits)
        bits = larger
      }
      bits[at] = (bits[at] as number) | (1 << (index & 7))
      max = Math.max(max, index)
    },
    has: index => index <= max && ((bits[index >> 3] as number) & (1 << (index & 7))) !== 0,
    max: () => max,
  }
}
