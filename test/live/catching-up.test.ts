import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLiveClients, type LiveClients } from '../../stream/live/clients.ts'
import type { LiveClient } from '../../stream/live/groups.ts'
import type { Position } from '../../stream/live/position.ts'
import type { LivePositions } from '../../stream/live/positions.ts'

/** A live process with one subject in one partition. The test sets how far it has read. */
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
      lastAt: null,
    },
    info: {
      subject: 1,
      subjectId: 'one',
      subjectType: 'device',
      organizationId: 'org',
      name: 'Van',
      hubIds: [],
      past: null,
      teamIds: [],
      gone: false,
    },
    motion: { past: [], moves: false },
    state: 'idle',
    bucket: Number.POSITIVE_INFINITY,
    json: undefined,
  }
  let changed = new Map<string, Set<Position>>()
  const watermark = new Map([[0, 0]])
  const positions: LivePositions = {
    of: () => new Set([position]),
    watermark,
    visibilityVersion: () => 1,
    takeArrival: () => null,
    countOnline: () => 0,
    takeChanged() {
      const taken = changed
      changed = new Map()
      return taken
    },
    refresh: async () => {},
    age: () => {},
    hasAged: () => false,
    close: async () => {},
  }
  return {
    clients: createLiveClients(positions),
    readTo(offset: number) {
      position.fix = { ...position.fix, recordedAt: Date.now(), lat: offset, logOffset: offset - 1 }
      position.json = undefined
      watermark.set(0, offset)
      changed.set('org', new Set([position]))
    },
  }
}

function createClient() {
  const frames: { type: string; cursor: string; positions: { lat: number }[] }[] = []
  const client: LiveClient = {
    send: text => frames.push(JSON.parse(text)),
    waitingBytes: 0,
    visibility: { organizationId: 'org', subjectIds: null, teamIds: [], hubIds: null },
  }
  return { client, frames, latitudes: () => frames.flatMap(frame => frame.positions.map(({ lat }) => lat)) }
}

describe('A live client whose cursor another process wrote that has read further', () => {
  const open: LiveClients[] = []
  beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
  afterEach(() => {
    for (const clients of open.splice(0)) clients.close()
    vi.useRealTimers()
  })

  function cursorAt(offset: number): string {
    const ahead = createProcess()
    open.push(ahead.clients)
    ahead.readTo(offset)
    const { client, frames } = createClient()
    ahead.clients.subscribe(client, {}, null)
    return frames[0]?.cursor as string
  }

  function behind() {
    const process = createProcess()
    open.push(process.clients)
    process.readTo(10)
    vi.advanceTimersByTime(250)
    return process
  }

  it('sees nothing older, and continues where it was', () => {
    const process = behind()
    const { client, frames, latitudes } = createClient()
    process.clients.subscribe(client, {}, cursorAt(20))
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
    const { client, frames } = createClient()
    process.clients.subscribe(client, {}, cursorAt(20))
    vi.advanceTimersByTime(4_900)
    expect(frames).toEqual([])
    vi.advanceTimersByTime(500)
    expect(frames).toMatchObject([{ type: 'snapshot', positions: [{ lat: 10 }] }])
  })

  it('gets nothing any more once it has unsubscribed or gone', () => {
    const process = behind()
    const { client, frames } = createClient()
    process.clients.subscribe(client, {}, cursorAt(20))
    process.clients.unsubscribe(client)
    process.readTo(30)
    vi.advanceTimersByTime(6_000)
    expect(frames).toEqual([])
  })
})

describe('A live client that reads too slowly', () => {
  beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
  afterEach(() => void vi.useRealTimers())

  it('gets what it has missed with a change of what it may see', () => {
    const process = createProcess()
    process.readTo(10)
    vi.advanceTimersByTime(250)
    const { client, latitudes } = createClient()
    process.clients.subscribe(client, {}, null)
    const slow = Object.assign(client, { waitingBytes: 100_000_000 })
    process.readTo(15)
    vi.advanceTimersByTime(250)
    expect(latitudes()).toEqual([10])
    slow.waitingBytes = 0
    process.clients.changeVisibility(client, { ...client.visibility, hubIds: ['hub'] })
    expect(latitudes()).toEqual([10, 15])
    process.clients.close()
  })
})
