import { z } from 'zod'

type Box = [west: number, south: number, east: number, north: number]

/** A box of a query: `west,south,east,north` in degrees. Its west is greater than its east across the antimeridian. */
export const queryBox = z.string().transform((text, context) => {
  const numbers = text.split(',').map(part => (part.trim() === '' ? Number.NaN : Number(part)))
  const [west = 0, south = 0, east = 0, north = 0] = numbers
  const valid =
    numbers.length === 4 &&
    numbers.every(Number.isFinite) &&
    Math.abs(west) <= 180 &&
    Math.abs(east) <= 180 &&
    south >= -90 &&
    north <= 90 &&
    south <= north
  if (valid) return numbers as Box
  context.addIssue({ code: 'custom', message: 'This has to be west,south,east,north in degrees.' })
  return z.NEVER
})
