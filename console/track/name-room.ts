export interface Box {
  x: number
  y: number
  width: number
  height: number
}

export interface Room {
  /** Takes the room of a name's boxes, where no other name has any of it. */
  take(boxes: readonly Box[]): boolean
}

const CELL_PX = 6

/** Which parts of a picture have names already, in cells. */
export function createRoom(width: number, height: number): Room {
  const columns = Math.ceil(width / CELL_PX) + 1
  const rows = Math.ceil(height / CELL_PX) + 1
  const taken = new Uint8Array(columns * rows)

  function* cellsOf({ x, y, width, height }: Box): Generator<number> {
    const cell = (px: number, count: number) => Math.max(0, Math.min(count - 1, Math.floor(px / CELL_PX)))
    const [first, last] = [cell(x, columns), cell(x + width, columns)]
    for (let row = cell(y, rows); row <= cell(y + height, rows); row++) {
      for (let column = first; column <= last; column++) yield row * columns + column
    }
  }

  return {
    take(boxes) {
      for (const box of boxes) {
        for (const cell of cellsOf(box)) if (taken[cell] === 1) return false
      }
      for (const box of boxes) {
        for (const cell of cellsOf(box)) taken[cell] = 1
      }
      return true
    },
  }
}
