/** A part of a line that is long enough for a name, and straight enough to be read. */
export interface Stretch {
  /** Its middle, and the direction there, such that text is not upside down. */
  x: number
  y: number
  angle: number
  isStraight: boolean
  /** Places along it, in the direction in which it is read. */
  points: { x: number; y: number }[]
  length: number
}

export interface Letter {
  text: string
  x: number
  y: number
  angle: number
}

const STEP_PX = 6
/** A whole name is drawn straight where the line leaves its chord by less. */
const STRAIGHT_PX = 1.5
/** The most that a line may turn from one step to the next. */
const MAX_TURN = 0.45
/** The most that it may turn from one end of the name to the other. */
const MAX_BEND = 1.6
/** Where on a line a name is tried: at its middle first, then to its ends. */
const TRIES = [0.5, 0.3, 0.7, 0.12, 0.88]
/** On a line that is longer than the screen a name is tried so often. */
const TRIED_EVERY_PX = 160
const MAX_TRIES = 40

/**
 * The stretches of a line that have room for a name. `mayBend` says whether its letters may be drawn one by one, `isShown` whether a
 * place is one that somebody sees.
 */
export function* findStretches(
  line: Float32Array,
  length: number,
  mayBend: boolean,
  isShown: (x: number, y: number) => boolean,
): Generator<Stretch> {
  const lengths = measure(line)
  const whole = lengths.at(-1) ?? 0
  if (whole < length) return
  const more = Math.min(MAX_TRIES, Math.floor(whole / TRIED_EVERY_PX))
  const shares = more > TRIES.length ? Array.from({ length: more }, (_, at) => (at + 0.5) / more) : TRIES
  for (const share of shares) {
    const middle = placeAt(line, lengths, whole * share)
    if (!isShown(middle.x, middle.y)) continue
    const from = Math.max(0, Math.min(whole - length, whole * share - length / 2))
    const steps = Math.max(2, Math.ceil(length / STEP_PX))
    const points = Array.from({ length: steps + 1 }, (_, step) =>
      placeAt(line, lengths, from + (length * step) / steps),
    )
    const stretch = toStretch(points, length)
    if (stretch && (mayBend || stretch.isStraight)) yield stretch
  }
}

/** The letters of a name along a stretch, in its middle. */
export function lettersOn(
  { points, length }: Stretch,
  text: string,
  widthOf: (text: string) => number,
): Letter[] {
  const line = Float32Array.from(points.flatMap(({ x, y }) => [x, y]))
  const lengths = measure(line)
  // The samples cut corners, so that the line through them is shorter.
  const start = ((lengths.at(-1) ?? length) - widthOf(text)) / 2
  const letters: Letter[] = []
  let before = ''
  for (const letter of text) {
    const [from, to] = [widthOf(before), widthOf(before + letter)]
    before += letter
    const [a, b] = [placeAt(line, lengths, start + from), placeAt(line, lengths, start + to)]
    letters.push({
      text: letter,
      x: (a.x + b.x) / 2,
      y: (a.y + b.y) / 2,
      angle: Math.atan2(b.y - a.y, b.x - a.x),
    })
  }
  return letters
}

function measure(line: Float32Array): Float32Array {
  const lengths = new Float32Array(line.length / 2)
  for (let at = 1; at < lengths.length; at++) {
    const [x, y] = [at * 2, at * 2 + 1].map(index => (line[index] as number) - (line[index - 2] as number))
    lengths[at] = (lengths[at - 1] as number) + Math.hypot(x as number, y as number)
  }
  return lengths
}

function placeAt(line: Float32Array, lengths: Float32Array, distance: number): { x: number; y: number } {
  let next = lengths.findIndex(length => length >= distance)
  if (next === -1) next = lengths.length - 1
  next = Math.max(1, next)
  const [from, to] = [lengths[next - 1] as number, lengths[next] as number]
  const share = to > from ? Math.max(0, Math.min(1, (distance - from) / (to - from))) : 0
  const at = (index: number) => {
    const [a, b] = [line[index - 2] as number, line[index] as number]
    return a + (b - a) * share
  }
  return { x: at(next * 2), y: at(next * 2 + 1) }
}

function toStretch(points: { x: number; y: number }[], length: number): Stretch | null {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) return null
  if (last.x < first.x) points.reverse()
  const [start, end] = last.x < first.x ? [last, first] : [first, last]
  const angle = Math.atan2(end.y - start.y, end.x - start.x)
  const angles = points.slice(1).map((point, index) => {
    const before = points[index] as { x: number; y: number }
    return turnOf(Math.atan2(point.y - before.y, point.x - before.x) - angle)
  })
  if (
    angles.some((one, index) => index > 0 && Math.abs(turnOf(one - (angles[index - 1] as number))) > MAX_TURN)
  )
    return null
  if (angles.some(one => Math.abs(one) > MAX_BEND / 2)) return null
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)]
  const leaves = points.map(({ x, y }) => Math.abs((y - start.y) * cosine - (x - start.x) * sine))
  const middle = points[Math.floor(points.length / 2)] as { x: number; y: number }
  return { ...middle, angle, isStraight: Math.max(...leaves) < STRAIGHT_PX, points, length }
}

/** Between minus and plus half a turn. */
const turnOf = (angle: number) => angle - Math.round(angle / (2 * Math.PI)) * 2 * Math.PI
