/** The arcs of a topology: steps from one point to the next. */
export type Arcs = [number, number][][]

/** Base64 of source maps: five bits a letter, the lowest first; the sixth bit says that the number goes on. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const VALUES = new Map([...LETTERS].map((letter, value) => [letter, value]))

/** Writes arcs as text, which compressed has three quarters of the bytes of JSON: each arc begins with its number of points. */
export const packArcs = (arcs: Arcs): string =>
  arcs.map(arc => [arc.length, ...arc.flat()].map(pack).join('')).join('')

export function unpackArcs(packed: string): Arcs {
  const arcs: Arcs = []
  let at = 0
  const read = (): number => {
    let [value, shift, letter] = [0, 0, 0]
    do {
      letter = VALUES.get(packed[at++] as string) ?? 0
      value |= (letter & 31) << shift
      shift += 5
    } while (letter & 32)
    return value & 1 ? -(value >> 1) : value >> 1
  }
  while (at < packed.length) arcs.push(Array.from({ length: read() }, () => [read(), read()]))
  return arcs
}

/** The lowest bit is the sign. */
function pack(number: number): string {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1
  let text = ''
  do {
    const bits = rest & 31
    rest >>= 5
    text += LETTERS[rest > 0 ? bits | 32 : bits]
  } while (rest > 0)
  return text
}
