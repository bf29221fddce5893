import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { leaveOutStrays } from '../../console/live/strays.ts'
import { centerAround } from '../../console/map/center-around.ts'
import { toX, toY } from '../../console/map/mercator.ts'
import { readView } from '../../console/pages/map/view-address.ts'
import { createClient, createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
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
    await page.getByRole('complementary', { name: 'Van 7' }).waitFor()
    await page.locator('.maplibregl-ctrl-scale').waitFor()
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
    await page.locator('.maplibregl-ctrl-scale').waitFor()
    await closer.click()
    await viewAt(16)
  })
})
