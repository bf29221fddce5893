import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { LivePositions, Position } from '../../stream/live/positions.ts'
import { createScreens, type Screen, type Screens } from '../../stream/live/screens.ts'

/** A live process that has read as far as it is told, with one subject of one partition. */
function createProcess() {
  const position: Position = {
    fix: {
      subject: 1,
      recordedAt: 0,
      lat: 1,
      lng: 1,
      speed: null,
      heading: null,
      accuracy: null,
      battery: null,
      logPartition: 0,
      logOffset: 0,
    },
    info: {
      subject: 1,
      subjectId: 'one',
      subjectType: 'device',
      organizationId: 'org',
      name: 'Van',
      hubIds: [],
      teamIds: [],
      gone: false,
    },
    state: 'idle',
    json: undefined,
  }
  let changed = new Map<string, Set<Position>>()
  const settled = new Map([[0, 0]])
  const positions: LivePositions = {
    of: () => new Set([position]),
    settled,
    sightVersion: () => 1,
    takeChanged() {
      const taken = changed
      changed = new Map()
      return taken
    },
    refresh: async () => {},
    refreshAll: async () => {},
    age: () => {},
    close: async () => {},
  }
  return {
    screens: createScreens(positions),
    readTo(offset: number) {
      position.fix = { ...position.fix, recordedAt: Date.now(), lat: offset, logOffset: offset - 1 }
      position.json = undefined
      settled.set(0, offset)
      changed.set('org', new Set([position]))
    },
  }
}

function createScreen() {
  const frames: { type: string; cursor: string; positions: { lat: number }[] }[] = []
  const screen: Screen = {
    send: text => frames.push(JSON.parse(text)),
    waitingBytes: 0,
    sight: { organizationId: 'org', subjectIds: null, teamIds: [], hubIds: null },
  }
  return { screen, frames, latitudes: () => frames.flatMap(frame => frame.positions.map(({ lat }) => lat)) }
}

describe('A screen whose cursor another process wrote that has read further', () => {
  const open: Screens[] = []
  beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
  afterEach(() => {
    for (const screens of open.splice(0)) screens.close()
    vi.useRealTimers()
  })

  function cursorAt(offset: number): string {
    const ahead = createProcess()
    open.push(ahead.screens)
    ahead.readTo(offset)
    const { screen, frames } = createScreen()
    ahead.screens.subscribe(screen, {}, null)
    return frames[0]?.cursor as string
  }

  function behind() {
    const process = createProcess()
    open.push(process.screens)
    process.readTo(10)
    vi.advanceTimersByTime(250)
    return process
  }

  it('is shown nothing older, and goes on where it was', () => {
    const process = behind()
    const { screen, frames, latitudes } = createScreen()
    process.screens.subscribe(screen, {}, cursorAt(20))
    process.readTo(15)
    vi.advanceTimersByTime(500)
    expect(frames).toEqual([])
    process.readTo(21)
    vi.advanceTimersByTime(250)
    expect(new Set(latitudes())).toEqual(new Set([21]))
    expect(frames.map(({ type }) => type)).not.toContain('snapshot')
  })

  it('is given a snapshot when the process does not get there', () => {
    const process = behind()
    const { screen, frames } = createScreen()
    process.screens.subscribe(screen, {}, cursorAt(20))
    vi.advanceTimersByTime(4_900)
    expect(frames).toEqual([])
    vi.advanceTimersByTime(500)
    expect(frames).toMatchObject([{ type: 'snapshot', positions: [{ lat: 10 }] }])
  })

  it('gets nothing any more once it has unsubscribed or gone', () => {
    const process = behind()
    const { screen, frames } = createScreen()
    process.screens.subscribe(screen, {}, cursorAt(20))
    process.screens.unsubscribe(screen)
    process.readTo(30)
    vi.advanceTimersByTime(6_000)
    expect(frames).toEqual([])
  })
})
