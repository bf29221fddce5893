import fc from 'fast-check'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { boundsAroundWays } from '../../console/map/geometry.ts'
import { createClient, createDevice, type TestDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** In the past in every time zone of a test machine. */
const DAY = new Date(Date.now() - 2 * DAY_MS).toISOString().slice(0, 10)
const AT_NINE = Date.parse(`${DAY}T09:00:00Z`)

describe('At the 180th meridian', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser()
  /** It crosses to the east and, hours later, back to the west. */
  let ferry: TestDevice

  const send = async (device: TestDevice, points: object[]) => {
    const answer = await createClient(server, device.key).post('/location-history/bulk', { points })
    expect(answer.status).toBe(200)
  }
  const fix = (time: number, lng: number, more: object = {}) => ({
    lat: -17,
    lng: lng > 180 ? lng - 360 : lng,
    timestamp: new Date(time).toISOString(),
    ...more,
  })

  beforeAll(async () => {
    await owner.patch('/organization', { timeZone: 'UTC', language: 'en' })
    ferry = await createDevice(owner, 'Ferry 2')
    const leg = (from: number, lng: number, step: number) =>
      [...Array(21).keys()].map(n => fix(from + n * MINUTE_MS, lng + n * step))
    await send(ferry, [
      ...leg(AT_NINE, 179.9, 0.01),
      // It is visible again on the other copy of the world.
      ...leg(AT_NINE + 180 * MINUTE_MS, 180.08, -0.008),
    ])
  })

  /** The horizontal extent of the paint above the map, in shares of its width; null without any. */
  const readPainted = (page: Page) =>
    page.locator('canvas.map-layer').evaluate((canvas: HTMLCanvasElement) => {
      const { width, height } = canvas
      const { data } = canvas.getContext('2d')?.getImageData(0, 0, width, height) ?? { data: [] }
      const columns = [...Array(width).keys()].filter(x =>
        [...Array(height).keys()].some(y => data[(y * width + x) * 4 + 3] === 255),
      )
      return columns.length === 0 ? null : [(columns[0] ?? 0) / width, (columns.at(-1) ?? 0) / width]
    })

  it('playback draws the short way, and shows a subject on both sides', async () => {
    const url = `${server.url}/playback?subject=device:${ferry.id}&day=${DAY}`
    const page = await screens.open(url, { as: owner, mayFail: /willReadFrequently/ })
    const parts = page.getByRole('list', { name: 'Trips and stops' }).getByRole('button')
    await until('both trips are listed', async () => (await parts.count()) === 2)
    expect(await parts.allInnerTexts()).toEqual([
      expect.stringContaining('21.3 km'),
      expect.stringContaining('17 km'),
    ])
    // The track spans 0.2 degrees, so the scale is that small.
    await page
      .locator('.maplibregl-ctrl-scale')
      .getByText(/^[1-5]\skm$/)
      .waitFor()
    const slider = page.getByRole('slider', { name: 'Time' })
    await slider.focus()
    const seen: number[] = []
    for (const key of ['Home', 'PageUp', 'PageUp', 'n', 'End']) {
      await page.keyboard.press(key)
      await until('it is on the map, and elsewhere', async () => {
        const left = (await readPainted(page))?.[0]
        if (left === undefined || left === seen.at(-1)) return false
        return seen.push(left) > 0
      })
    }
    // It goes to the right, and back.
    expect(seen[0]).toBeLessThan(seen[1] ?? 0)
    expect(seen[1]).toBeLessThan(seen[2] ?? 0)
    expect(seen[3]).toBeLessThan(seen[2] ?? 0)
    expect(seen[3]).toBeGreaterThan(seen[1] ?? 0)
    expect(seen[4]).toBeGreaterThan(seen[0] ?? 0)
    expect(seen[4]).toBeLessThan(seen[1] ?? 0)
  })

  it('a tracking link’s page draws the short way across it, and its map repeats', async () => {
    const boat = await createDevice(owner, 'Boat 1')
    const now = Date.now()
    await send(boat, [
      fix(now - 60_000, 179.995, { speed: 10, heading: 90 }),
      fix(now - 5_000, 180.005, { speed: 10, heading: 90 }),
    ])
    const expiresAt = new Date(now + 3_600_000).toISOString()
    const body = { subjectId: boat.id, subjectType: 'device', trailMinutes: 60, expiresAt }
    const { url } = (await owner.post('/tracking-link', body)).body.data
    const page = await screens.open(url, { mayFail: /willReadFrequently/ })
    await page
      .getByText(/^moving, 36 km\/h/)
      .first()
      .waitFor()
    /** Whether a line passes there, beside the marker in the middle. */
    const isLine = (offPx: number) =>
      page.locator('canvas').evaluate((canvas: HTMLCanvasElement, off) => {
        const context = canvas.getContext('2d')
        const at = (down: number) =>
          String(context?.getImageData(canvas.width / 2 + off, canvas.height / 2 + down, 1, 1).data)
        return at(0) !== at(-9) && at(0) !== at(9)
      }, offPx)
    await until('its trail is behind it', () => isLine(-60))
    expect(await isLine(60)).toBe(false)
    await send(boat, [fix(Date.now(), 180.006, { speed: 10, heading: 90 })])
    await until('the trail stays behind it', async () => (await isLine(-60)) && !(await isLine(60)))
  })
})

describe('Beyond 85°, the edge of the map', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser()

  it('a subject is drawn whole at the edge, and the panel says so', async () => {
    await owner.patch('/organization', { timeZone: 'UTC', language: 'en' })
    const sledge = await createDevice(owner, 'Sledge')
    const send = async (time: number, lat: number) => {
      const points = [{ lat, lng: 20, timestamp: new Date(time).toISOString() }]
      const answer = await createClient(server, sledge.key).post('/location-history/bulk', { points })
      expect(answer.status).toBe(200)
    }
    await send(AT_NINE, -89.9)
    await send(AT_NINE + MINUTE_MS, -89.91)
    await send(Date.now(), 90)
    // MapLibre warns where a line leaves the world beyond the edge.
    const page = await screens.open(`${server.url}/?subject=${sledge.id}`, {
      as: owner,
      mayFail: /Geometry exceeds allowed extent/,
    })
    const panel = page.getByRole('complementary', { name: 'Sledge' })
    await panel.getByText('The map ends at 85°').waitFor()
    // The map has gone to it: without a panel it would show everything instead.
    await page
      .locator('.maplibregl-ctrl-scale')
      .getByText(/^\d+\sm$/)
      .waitFor()
    const map = page.getByRole('region', { name: /^Map of all/ })
    const box = await map.boundingBox()
    // In the middle of the area beside the panel, and a marker's width below the edge.
    const position = { x: ((box?.width ?? 0) - 324) / 2, y: 28 }
    await panel.getByRole('button', { name: 'Close' }).click()
    await panel.waitFor({ state: 'detached' })
    await until('it is chosen by a click there', async () => {
      await map.click({ position })
      return (await panel.count()) === 1
    })

    const played = await screens.open(`${server.url}/playback?subject=device:${sledge.id}&day=${DAY}`, {
      as: owner,
      mayFail: /willReadFrequently/,
    })
    await until('its marker is as high as it is', async () => {
      const rows = await played.locator('canvas.map-layer').evaluate((canvas: HTMLCanvasElement) => {
        const { width, height } = canvas
        const { data } = canvas.getContext('2d')?.getImageData(0, 0, width, height) ?? { data: [] }
        const isPainted = (y: number) =>
          [...Array(width).keys()].some(x => data[(y * width + x) * 4 + 3] === 255)
        return [...Array(height).keys()].filter(isPainted).length
      })
      return rows >= 22
    })
  })
})

describe('Bounds of lines', () => {
  it('cross the 180th meridian with the lines, and cut none of them', () => {
    const east = [
      [179.9, 0],
      [180.1, 1],
    ] as const
    const back = [
      [-179.8, 2],
      [-180.2, 3],
    ] as const
    expect(boundsAroundWays([east, back])).toEqual([
      [expect.closeTo(179.8, 9), 0],
      [expect.closeTo(180.2, 9), 3],
    ])
    // Between its points there is only the line.
    const far = [0, 120, 240].map(lng => [lng, 0] as const)
    expect(boundsAroundWays([far])).toEqual([
      [0, 0],
      [240, 0],
    ])
    const round = [...Array(13).keys()].map(n => [n * 30, 0] as const)
    const [[from], [to]] = boundsAroundWays([round, east]) ?? [[0], [0]]
    expect(to - from).toBeGreaterThanOrEqual(360)
    expect(boundsAroundWays([])).toBeNull()
  })

  it('hold each line whole, in the fewest degrees possible', () => {
    const way = fc
      .tuple(fc.integer({ min: -180, max: 180 }), fc.integer({ min: 0, max: 300 }))
      .map(([west, wide]) => ({ west, wide }))
    fc.assert(
      fc.property(fc.array(way, { minLength: 1, maxLength: 6 }), ways => {
        const lines = ways.map(({ west, wide }) => [[west, 0] as const, [west + wide, 0] as const])
        const [[west], [east]] = boundsAroundWays(lines) ?? [[0], [0]]
        const after = (start: number, lng: number) => (((lng - start) % 360) + 360) % 360
        /** The distance from there that covers all of them. */
        const widthFrom = (start: number) => Math.max(...ways.map(one => after(start, one.west) + one.wide))
        if (east - west < 360) expect(widthFrom(west)).toBe(east - west)
        expect(Math.min(360, east - west)).toBe(Math.min(360, ...ways.map(one => widthFrom(one.west))))
      }),
    )
  })
})
