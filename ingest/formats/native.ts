import { topicsOf } from '../mqtt/topics.ts'
import { type Format, NoPoint, oneOrMany, type RawFix } from './format.ts'

/** Fieldline's own format: a point as an object in SI units, or an array of points. Unknown keys are ignored. */
export const native = {
  isTopic: (topic, publisher) => topic.endsWith('/location') && topic === `${topicsOf(publisher)}location`,
  values: oneOrMany,
  read: readNative,
} satisfies Format

function readNative(value: unknown): RawFix | NoPoint {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as RawFix
  return new NoPoint('bad-shape', 'A point has to be a JSON object.')
}
