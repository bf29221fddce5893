/** Subjects that are nearer to each other on the screen form a cluster. */
const RADIUS_PX = 40
/** Fewer subjects than this form no cluster. */
const MIN_MEMBERS = 4

export interface Cluster {
  /** The center, in shares of the world. */
  x: number
  y: number
  members: number[]
}

export interface Clustering {
  clusters: Cluster[]
  /** By slot: 1 for a subject outside of all clusters. */
  alone: Uint8Array
  /** Whether each is drawn as a dot, and the clusters as numbers alone. */
  isDense: boolean
}

/**
 * Groups subjects that are close together at a scale (the world's width in pixels). It takes some milliseconds for 10,000.
 */
export function cluster(x: Float64Array, y: Float64Array, size: number, worldPx: number): Clustering {
  const alone = new Uint8Array(size).fill(1)
  const radius = RADIUS_PX / worldPx
  // The number of columns around the world, after the last of which the first follows.
  const columns = Math.max(3, Math.floor(1 / radius))
  const cells = new Map<number, number[]>()
  const columnOf = (x: number) => Math.floor(x * columns)
  const cellOf = (column: number, row: number) => row * columns + ((column + columns) % columns)
  for (let slot = 0; slot < size; slot++) {
    const key = cellOf(columnOf(x[slot] as number), Math.floor((y[slot] as number) / radius))
    const cell = cells.get(key)
    if (cell) cell.push(slot)
    else cells.set(key, [slot])
  }
  const taken = new Uint8Array(size)
  const clusters: Cluster[] = []
  for (let slot = 0; slot < size; slot++) {
    if (taken[slot]) continue
    const [px, py] = [x[slot] as number, y[slot] as number]
    const column = columnOf(px)
    const row = Math.floor(py / radius)
    const members: number[] = []
    let sumX = 0
    let sumY = 0
    for (let down = -1; down <= 1; down++) {
      for (let right = -1; right <= 1; right++) {
        for (const other of cells.get(cellOf(column + right, row + down)) ?? []) {
          if (taken[other]) continue
          const away = (x[other] as number) - px
          const dx = away - Math.round(away)
          const dy = (y[other] as number) - py
          if (dx * dx + dy * dy > radius * radius) continue
          members.push(other)
          sumX += dx
          sumY += y[other] as number
        }
      }
    }
    if (members.length < MIN_MEMBERS) continue
    for (const member of members) {
      taken[member] = 1
      alone[member] = 0
    }
    clusters.push({ x: (px + sumX / members.length + 1) % 1, y: sumY / members.length, members })
  }
  return { clusters, alone, isDense: false }
}
