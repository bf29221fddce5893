import { expect, it } from 'vitest'
import type { Entry, Point } from '../../stream/point.ts'
import { splitBatch, toColumns } from '../../stream/store/split.ts'

const point = (subject: number, recordedAt: number, battery: number): Point => ({
  kind: 'point',
  subject,
  recordedAt,
  receivedAt: 9,
  lat: 1,
  lng: 2,
  speed: null,
  heading: null,
  accuracy: null,
  altitude: null,
  battery,
  attributes: null,
})
const rejection: Entry = {
  kind: 'rejection',
  subject: 1,
  receivedAt: 9,
  reason: 'no-fix',
  message: 'No fix.',
  index: null,
  topic: null,
  payload: null,
}

it('A batch is split into points in order, the first of two with one identity before the other, and rejections', () => {
  const records = [
    { offset: 7, entries: [point(2, 5, 1), rejection, point(1, 5, 2)] },
    { offset: 8, entries: [point(1, 3, 3), point(1, 5, 4)] },
  ]
  const { points, rejections } = splitBatch({ partition: 0, records, nextOffset: 9 })
  expect(points.map(({ entry, offset, ordinal }) => [entry.battery, offset, ordinal])).toEqual([
    [3, 8, 0],
    [2, 7, 2],
    [4, 8, 1],
    [1, 7, 0],
  ])
  expect(rejections).toEqual([{ entry: rejection, offset: 7, ordinal: 1 }])
  const columns = toColumns(points.map(({ entry }) => entry))
  expect(columns).toMatchObject({ subject: [1, 1, 1, 2], recordedAt: [3, 5, 5, 5], battery: [3, 2, 4, 1] })
})
