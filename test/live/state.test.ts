import { describe, expect, it } from 'vitest'
import type { NewestFix, SubjectInfo } from '../../db/queries/newest-fixes.ts'
import { toJson } from '../../stream/live/position.ts'
import { LiveState } from '../../stream/live/state.ts'

const MINUTE = 60_000
const fix = (recordedAt: number, speed: number): NewestFix => ({
  subject: 1,
  recordedAt,
  lat: 1,
  lng: 1,
  speed,
  heading: null,
  accuracy: null,
  battery: null,
  logPartition: 0,
  logOffset: 0,
  lastAt: null,
})
const info: SubjectInfo = {
  subject: 1,
  subjectId: 'one',
  subjectType: 'device',
  organizationId: 'org',
  name: 'Van',
  hubIds: [],
  teamIds: [],
  gone: false,
  past: null,
}

describe('The state of a live process', () => {
  it('shows a subject to nobody before its name is known, and then once for each change', () => {
    const state = new LiveState()
    state.add(fix(0, 5), undefined, 0)
    const position = state.find(1)
    expect(state.of('org').size).toBe(0)
    expect(state.takeChanged().size).toBe(0)
    Object.assign(position as object, { info })
    state.show(position as never, 0)
    expect([...state.of('org')]).toEqual([position])
    expect([...state.takeChanged().keys()]).toEqual(['org'])
    expect(state.takeChanged().size).toBe(0)
  })

  it('changes a silent subject by the time alone: idle after a minute, offline as its organization says', () => {
    const state = new LiveState()
    state.setView('org', { version: 1, offlineAfterMs: 3 * MINUTE, maxAccuracy: null }, 0)
    state.add(fix(0, 5), info, 0)
    const [position] = state.of('org')
    const states = [0.5, 1.1, 2, 3.1].map(minutes => {
      state.age(minutes * MINUTE)
      return [position?.state, state.takeChanged().size]
    })
    expect(states).toEqual([
      ['moving', 0],
      ['idle', 1],
      ['idle', 0],
      ['offline', 1],
    ])
    expect(JSON.parse(toJson(position as never))).toMatchObject({ subjectId: 'one', state: 'offline' })
  })

  it('removes a subject of which no fix is left, and tells that it is gone', () => {
    const state = new LiveState()
    state.add(fix(0, 5), info, 0)
    const [position] = state.of('org')
    state.remove(position as never)
    expect(state.of('org').size).toBe(0)
    expect(state.find(1)).toBeUndefined()
    expect([...(state.takeChanged().get('org') ?? [])].map(one => one.info?.gone)).toEqual([true])
  })
})
