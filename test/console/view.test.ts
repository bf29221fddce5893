import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createFleet } from '../../console/live/fleet.ts'
import { NUMERIC } from '../../console/live/packed.ts'
import { leaveOutStrays } from '../../console/live/strays.ts'
import { centerAround } from '../../console/map/center-around.ts'
import { toX, toY } from '../../console/map/mercator.ts'
import { fitWhileArriving } from '../../console/pages/map/arriving.ts'
import { readView } from '../../console/pages/map/view-address.ts'
import { createClient, createDevice, type TestDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'

describe('The first view of the fleet', () => {
  const slotsIn = (...places: [lng: number, lat: number][]) => {
    const x = Float64Array.from(places, ([lng]) => toX(lng))
    const y = Float64Array.from(places, ([, lat]) => toY(lat))
    return leaveOutStrays([...places.keys()], x, y)
  }
  const around = (lng: number, lat: number, count: number) =>
    Array.from({ length: count }, (_, at): [number, number] => [
      lng + (at % 5) * 0.01,
      lat + Math.floor(at / 5) * 0.01,
    ])

  it('leaves out a tracker on another continent, and nobody of a fleet in two towns', () => {
    expect(slotsIn(...around(-122.4, 37.7, 19), [13.4, 52.5])).toEqual([...Array(19).keys()])
    expect(slotsIn(...around(13.4, 52.5, 10), ...around(11.5, 48.1, 10))).toHaveLength(20)
    expect(slotsIn([13.4, 52.5], [-122.4, 37.7], [0, 0.1])).toHaveLength(3)
  })

  it('finds the fleet’s middle across the 180th meridian', () => {
    const fleet = [...around(179.98, -17, 10), ...around(-179.99, -17, 9)]
    expect(slotsIn(...fleet, [13.4, 52.5])).toEqual([...Array(19).keys()])
  })

  it('is the one of the address, which has to be a place on earth', () => {
    expect(readView('#14.5/37.7749/-122.4194')).toEqual({ zoom: 14.5, center: [-122.4194, 37.7749] })
    for (const hash of ['', '#', '#x', '#14/95/0', '#14/0/200', '#14/0', '#1e3/0/0', '#14/0/0/0'])
      expect(readView(hash)).toBeNull()
  })
})

describe('The first view of a fleet that arrives', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser()
  afterEach(() => void vi.useRealTimers())

  /** A map of one degree, and a fleet whose subjects arrive one by one, the first of them in view. */
  const start = () => {
    const listeners = new Set<(event: object) => void>()
    const map = {
      getBounds: () => ({
        contains: ([lng, lat]: [number, number]) => Math.abs(lng) < 0.5 && Math.abs(lat) < 0.5,
      }),
      on: (_: string, listener: (event: object) => void) => void listeners.add(listener),
      off: (_: string, listener: (event: object) => void) => void listeners.delete(listener),
    }
    const fleet = createFleet()
    const arrive = (lng: number, lat: number) => {
      const columns = Object.fromEntries(NUMERIC.map(name => [name, Float64Array.of(0)]))
      const at = { ...columns, lng: Float64Array.of(lng), lat: Float64Array.of(lat) }
      fleet.update({ ids: [`${lng} ${lat}`], names: ['Van'], columns: at } as never, 0)
    }
    arrive(0, 0)
    const showAll = vi.fn()
    fitWhileArriving(map as never, fleet, fleet.size, showAll)
    const touch = (event: object) => {
      for (const listener of [...listeners]) listener(event)
    }
    return { arrive, showAll, touch }
  }

  it('grows with each subject out of it, until somebody moves the map', () => {
    const { arrive, showAll, touch } = start()
    arrive(0.1, 0.1)
    expect(showAll).toHaveBeenCalledTimes(0)
    arrive(3, 0)
    // Its own moves are no touch.
    touch({})
    arrive(4, 0)
    expect(showAll).toHaveBeenCalledTimes(2)
    touch({ originalEvent: {} })
    arrive(5, 0)
    expect(showAll).toHaveBeenCalledTimes(2)
  })

  it('stays when no subject has come for half a minute, and two minutes after it at the latest', () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const quiet = start()
    vi.advanceTimersByTime(31_000)
    quiet.arrive(3, 0)
    expect(quiet.showAll).toHaveBeenCalledTimes(0)
    const long = start()
    for (let lng = 1; lng <= 8; lng++) {
      vi.advanceTimersByTime(20_000)
      long.arrive(lng, 0)
    }
    expect(long.showAll).toHaveBeenCalledTimes(6)
  })

  it('shows the second vehicle of an organization as well', async () => {
    const [first, second] = [await createDevice(owner, 'Van 1'), await createDevice(owner, 'Van 2')]
    const send = async ({ key }: TestDevice, lat: number, lng: number) => {
      const points = [{ lat, lng, timestamp: new Date().toISOString() }]
      await createClient(server, key).post('/location-history/bulk', { points })
    }
    const page = await screens.open(server.url, { as: owner })
    const scale = page.locator('.maplibregl-ctrl-scale')
    await page.locator('.welcome').waitFor()
    await send(first, 52.5, 13.4)
    await until('the first vehicle is close', async () => /^\d+\sm$/.test(await scale.innerText()))
    await send(second, 52.6, 13.6)
    await until('both are in view', async () => /^\d+\skm$/.test(await scale.innerText()))
  })
})

describe('Zooming around a subject', () => {
  it('keeps it at its place on the screen', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -170, max: 170, noNaN: true }),
        fc.double({ min: -1, max: 1, noNaN: true }),
        fc.double({ min: -2, max: 2, noNaN: true }),
        (lng, off, levels) => {
          const [zoom, lat] = [12, 40]
          const map = { getZoom: () => zoom, getCenter: () => ({ lng: lng + off, lat }) }
          const { lng: east } = centerAround(map as never, [lng, lat], zoom + levels)
          const before = (toX(lng) - toX(lng + off)) * 2 ** zoom
          const after = (toX(lng) - toX(east)) * 2 ** (zoom + levels)
          expect(after).toBeCloseTo(before, 6)
        },
      ),
    )
  })
})

describe('A view that somebody chose', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser()

  it('stays in the address, over filters and a reload, and keeps the selected subject in it', async () => {
    const van = await createDevice(owner, 'Van 7')
    const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }]
    await createClient(server, van.key).post('/location-history/bulk', { points })
    const page = await screens.open(`${server.url}/?subject=${van.id}`, { as: owner })
    const viewAt = async (zoom: number) => {
      await page.waitForURL(url => readView(url.hash)?.zoom === zoom)
      return readView(new URL(page.url()).hash)?.center ?? [0, 0]
    }
    const closer = page.getByRole('button', { name: 'Zoom in' })
    // The map has a scale before its buttons work: that of the whole world.
    const isClose = () =>
      page
        .locator('.maplibregl-ctrl-scale')
        .getByText(/^\d+\sm$/)
        .waitFor()
    await page.getByRole('complementary', { name: 'Van 7' }).waitFor()
    await isClose()
    await closer.click()
    const before = await viewAt(14)
    await closer.click()
    const after = await viewAt(15)
    // Beside the panel the subject is off the center, by half as many degrees at twice the scale.
    expect(after[0] - 13.4).toBeCloseTo((before[0] - 13.4) / 2, 4)
    await page.getByRole('searchbox', { name: 'Search by name' }).fill('van')
    await page.waitForURL(url => url.search.includes('search=van') && readView(url.hash)?.zoom === 15)
    await page.reload()
    await page.getByRole('complementary', { name: 'Van 7' }).waitFor()
    await isClose()
    await closer.click()
    await viewAt(16)
  })
})
