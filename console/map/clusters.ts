/** Nearer to each other than this on the screen, they are shown as one. */
const RADIUS_PX = 40
/** Fewer than this stay what they are. */
const MIN_MEMBERS = 4

export interface Cluster {
  /** Their middle, in shares of the world. */
  x: number
  y: number
  members: number[]
}

export interface Clustering {
  clusters: Cluster[]
  /** By slot: whether it is shown for itself. */
  alone: Uint8Array
}

/** Whoever stands close together at this scale (pixels that the world is wide). Some milliseconds for 10,000. */
export function cluster(x: Float64Array, y: Float64Array, size: number, worldPx: number): Clustering {
  const alone = new Uint8Array(size).fill(1)
  const radius = RADIUS_PX / worldPx
  const perRow = Math.ceil(1 / radius) + 1
  const cells = new Map<number, number[]>()
  const cellOf = (column: number, row: number) => row * perRow + column
  for (let slot = 0; slot < size; slot++) {
    const key = cellOf(Math.floor((x[slot] as number) / radius), Math.floor((y[slot] as number) / radius))
    const cell = cells.get(key)
    if (cell) cell.push(slot)
    else cells.set(key, [slot])
  }
  const taken = new Uint8Array(size)
  const clusters: Cluster[] = []
  for (let slot = 0; slot < size; slot++) {
    if (taken[slot]) continue
    const [px, py] = [x[slot] as number, y[slot] as number]
    const column = Math.floor(px / radius)
    const row = Math.floor(py / radius)
    const members: number[] = []
    let sumX = 0
    let sumY = 0
    for (let down = -1; down <= 1; down++) {
      for (let right = -1; right <= 1; right++) {
        for (const other of cells.get(cellOf(column + right, row + down)) ?? []) {
          if (taken[other]) continue
          const dx = (x[other] as number) - px
          const dy = (y[other] as number) - py
          if (dx * dx + dy * dy > radius * radius) continue
          members.push(other)
          sumX += x[other] as number
          sumY += y[other] as number
        }
      }
    }
    if (members.length < MIN_MEMBERS) continue
    for (const member of members) {
      taken[member] = 1
      alone[member] = 0
    }
    clusters.push({ x: sumX / members.length, y: sumY / members.length, members })
  }
  return { clusters, alone }
}
