import { type RawFix, Refusal } from '../fix.ts'

/** Our own format: a point as an object in SI units. Unknown keys are ignored. */
export function readNative(value: unknown): RawFix | Refusal {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as RawFix
  return new Refusal('bad-shape', 'A point has to be a JSON object.')
}
