import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { distanceM } from '../../console/map/geometry.ts'
import { handlesOf } from '../../console/pages/map/fences/handles.ts'
import { createClient, createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { hasFocus, useBrowser } from './browser.ts'

type Pixel = readonly [x: number, y: number]

describe('The geofences of the console', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser()

  // The map starts with the 180th meridian in view.
  beforeAll(async () => {
    await owner.patch('/organization', { language: 'en' })
    for (const lng of [178, -178]) {
      const device = await createDevice(owner, `Boat at ${lng}`)
      const point = { lat: -17, lng, timestamp: new Date().toISOString() }
      const answer = await createClient(server, device.key).post('/location-history/bulk', {
        points: [point],
      })
      expect(answer.status).toBe(200)
    }
  })

  /** The form of a new geofence, and the middle of the map. */
  async function openNew(kind: 'Circle' | 'Polygon', mayFail?: RegExp) {
    const page = await screens.open(server.url, { as: owner, mayFail, size: { width: 1_500, height: 700 } })
    await page.getByText('2 on the map').waitFor()
    await page.getByRole('status').getByText('Live').waitFor()
    return begin(page, kind)
  }

  async function begin(page: Page, kind: 'Circle' | 'Polygon') {
    await page.getByRole('button', { name: 'New geofence' }).click()
    const form = page.getByRole('complementary', { name: 'New geofence' })
    // It is there once the map is. Of the clicks of a shape, those before that were lost, and the first view moved the others.
    await form.getByRole('button', { name: 'Center of the map' }).waitFor()
    await form.getByText(kind, { exact: true }).click()
    const box = await page.getByRole('region', { name: /^Map of all/ }).boundingBox()
    if (!box) throw new Error('There is no map')
    const middle: Pixel = [box.x + box.width / 2, box.y + box.height / 2]
    return { page, form, middle, corners: form.getByRole('textbox', { name: 'Corners' }) }
  }

  /** The form of another one on the same map: loading a map again costs two seconds of processor. */
  async function beginAgain(page: Page, kind: 'Circle' | 'Polygon') {
    const form = page.getByRole('complementary', { name: 'New geofence' })
    await form.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Discard' }).click()
    await form.waitFor({ state: 'detached' })
    return begin(page, kind)
  }
  const beside = ([x, y]: Pixel, right: number, down: number): Pixel => [x + right, y + down]
  const click = async (page: Page, [x, y]: Pixel) => {
    await page.mouse.move(x, y, { steps: 2 })
    await page.mouse.click(x, y)
  }
  const drag = async (page: Page, [fromX, fromY]: Pixel, [x, y]: Pixel) => {
    await page.mouse.move(fromX, fromY, { steps: 2 })
    await page.mouse.down()
    await page.mouse.move(x, y, { steps: 4 })
    await page.mouse.up()
  }
  const linesOf = async (corners: Locator) => (await corners.inputValue()).split('\n').filter(Boolean)
  const square = (middle: Pixel) =>
    [
      beside(middle, -60, -60),
      beside(middle, 60, -60),
      beside(middle, 60, 60),
      beside(middle, -60, 60),
    ] as const

  async function drawSquare(opening = openNew('Polygon')) {
    const opened = await opening
    const { page, middle, corners } = opened
    const pixels = square(middle)
    await until('the square is drawn', async () => {
      for (const pixel of pixels) await click(page, pixel)
      await click(page, pixels[0])
      return (await linesOf(corners)).length === 4
    })
    return { ...opened, pixels }
  }

  it('a geofence across the 180th meridian can be changed on the map right after drawing and after saving', async () => {
    const { page, form, corners, pixels } = await drawSquare()
    const drawn = await linesOf(corners)
    expect(drawn.filter(line => /, -1/.test(line))).toHaveLength(2)
    await drag(page, pixels[1], beside(pixels[1], -20, -40))
    const changed = await linesOf(corners)
    expect(changed.map((line, index) => line !== drawn[index])).toEqual([false, true, false, false])

    await form.getByRole('textbox', { name: 'Name' }).fill('Fiji')
    await form.getByRole('button', { name: 'Save' }).click()
    const panel = page.getByRole('complementary', { name: 'Fiji' })
    await panel.getByText('Polygon, 4 corners').waitFor()
    await panel.getByRole('button', { name: 'Edit' }).click()
    const again = page.getByRole('textbox', { name: 'Corners' })
    const saved = await linesOf(again)
    await until('a corner is dragged', async () => {
      await drag(page, pixels[3], beside(pixels[3], -30, 30))
      return (await linesOf(again))[3] !== saved[3]
    })
    expect((await linesOf(again)).slice(0, 3)).toEqual(saved.slice(0, 3))
  })

  it('a circle across the 180th meridian is drawn, resized by its edge and moved by its center; while the values form no shape, the previous one cannot be changed on the map, and the form says so', async () => {
    const drawCircle = async () => {
      const { page, form, middle } = await openNew('Circle')
      const radius = form.getByRole('textbox', { name: /^Radius/ })
      const lat = form.getByRole('textbox', { name: 'Latitude' })
      await until('it is drawn', async () => {
        await click(page, middle)
        await click(page, beside(middle, 60, 0))
        return (await radius.inputValue()) !== ''
      })
      const [drawn, where] = [Number(await radius.inputValue()), await lat.inputValue()]
      await drag(page, beside(middle, 0, -60), beside(middle, 0, -90))
      expect(Number(await radius.inputValue()) / drawn).toBeCloseTo(1.5, 1)
      expect(await lat.inputValue()).toBe(where)
      await drag(page, middle, beside(middle, 0, 60))
      expect(Number(await lat.inputValue())).toBeLessThan(Number(where))
      return page
    }
    const shown = await drawCircle()

    const { page, form, middle } = await beginAgain(shown, 'Circle')
    const [lat, lng, radius] = ['Latitude', 'Longitude', /^Radius/].map(name =>
      form.getByRole('textbox', { name }),
    ) as [Locator, Locator, Locator]
    const draw = () =>
      until('it is drawn', async () => {
        await click(page, middle)
        await click(page, beside(middle, 60, 0))
        return (await radius.inputValue()) !== ''
      })
    await draw()
    const drawn = await lat.inputValue()
    await lat.fill('')
    await form.getByText(/^These values don’t form a shape yet/).waitFor()
    await lat.fill(drawn)
    await drag(page, middle, beside(middle, 0, 60))
    expect(Number(await lat.inputValue())).toBeLessThan(Number(drawn))
    const values = () => Promise.all([lat, lng, radius].map(field => field.inputValue()))
    await lat.fill('abc')
    const before = await values()
    await drag(page, beside(middle, 0, 60), middle)
    expect(await values()).toEqual(before)
    // Without input the drawing starts again.
    for (const field of [lat, lng, radius]) await field.fill('')
    await form.getByText(/^Click the center on the map/).waitFor()
    await draw()
  })

  it('a dot between two corners adds one; a right click or Delete removes one, and explains why three have to stay', async () => {
    const { page, form, corners, middle, pixels } = await drawSquare()
    await drag(page, beside(middle, 60, 0), beside(middle, 40, -30))
    expect(await linesOf(corners)).toHaveLength(5)
    await page.keyboard.press('Delete')
    expect(await linesOf(corners)).toHaveLength(4)
    await form.getByText(/right-click or press Delete to remove one/).waitFor()
    await page.mouse.click(...pixels[2], { button: 'right' })
    expect(await linesOf(corners)).toHaveLength(3)
    await page.mouse.click(...pixels[1], { button: 'right' })
    await form.getByRole('status').getByText('A polygon needs at least three corners.').waitFor()
    // In a field the key deletes text.
    await click(page, pixels[1])
    await form.getByRole('textbox', { name: 'Name' }).fill('Reef')
    await page.keyboard.press('Delete')
    expect(await linesOf(corners)).toHaveLength(3)
  })

  it('changes on the map and in the text share one undo history; a drag inside a shape moves the map, and only the dot in its middle moves the shape', async () => {
    const shown = await drawAndUndo()
    // Last, as it moves the map.
    const { page, corners, middle } = await drawSquare(beginAgain(shown, 'Polygon'))
    const drawn = await linesOf(corners)
    const inside = beside(middle, 30, 30)
    await drag(page, inside, beside(inside, -100, 0))
    expect(await linesOf(corners)).toEqual(drawn)
    await drag(page, beside(middle, -100, 0), beside(middle, -100, 60))
    const moved = await linesOf(corners)
    expect(moved.filter((line, index) => line !== drawn[index])).toHaveLength(4)
    // It moved south, and not east or west.
    expect(moved.map(line => line.split(',')[1])).toEqual(drawn.map(line => line.split(',')[1]))
  })

  /** Draws a square, changes it, and takes that back. */
  async function drawAndUndo() {
    const { page, form, corners, pixels } = await drawSquare()
    const drawn = await corners.inputValue()
    await drag(page, pixels[1], beside(pixels[1], -20, -40))
    const dragged = await corners.inputValue()
    expect(dragged).not.toBe(drawn)
    await corners.press('Control+End')
    await corners.pressSequentially('1')
    const typed = await corners.inputValue()
    expect(typed).not.toBe(dragged)
    await page.keyboard.press('Control+z')
    expect(await corners.inputValue()).toBe(dragged)
    await page.keyboard.press('Control+z')
    expect(await corners.inputValue()).toBe(drawn)
    // The map agrees: the corner is where it was drawn.
    await drag(page, pixels[1], beside(pixels[1], -20, -40))
    expect(await corners.inputValue()).toBe(dragged)
    await page.keyboard.press('Control+z')
    await page.keyboard.press('Control+Shift+z')
    expect(await corners.inputValue()).toBe(dragged)
    await form.getByRole('button', { name: 'Undo' }).click()
    expect(await corners.inputValue()).toBe(drawn)
    await form.getByRole('button', { name: 'Redo' }).press('Enter')
    expect(await corners.inputValue()).toBe(dragged)
    await hasFocus(page, 'Undo')
    return page
  }

  it('the map moves to a typed shape that is out of view; a button starts a circle in the middle of the map', async () => {
    const { page, form, middle } = await openNew('Circle')
    const lat = form.getByRole('textbox', { name: 'Latitude' })
    await form.getByRole('button', { name: 'Center of the map' }).press('Enter')
    // Between both, in the middle of the free part of the map.
    expect(Number(await lat.inputValue())).toBeCloseTo(-17, 0)
    expect(Number(await form.getByRole('textbox', { name: /^Radius/ }).inputValue())).toBeGreaterThan(1_000)
    await lat.fill('52,52')
    await form.getByRole('textbox', { name: 'Longitude' }).fill('13,405')
    await form.getByRole('textbox', { name: /^Radius/ }).fill('1500')
    // Before the last field was filled, it may have gone to the circle of many kilometres that was there then.
    await page
      .locator('.maplibregl-ctrl-scale')
      .getByText(/^(\d+\sm|1\skm)$/)
      .waitFor()
    const free = beside(middle, -162, 0)
    await drag(page, free, beside(free, 0, 40))
    expect(await lat.inputValue()).not.toBe('52,52')
    expect(Number(await lat.inputValue())).toBeCloseTo(52.52, 1)
  })

  it('the input of a polygon returns after a switch to the circle; a polygon that crosses itself is reported before it is saved, and the caret moves to the corner that the server names', async () => {
    const typeBoth = async () => {
      const { page, form, corners } = await openNew('Polygon', /400 \(Bad Request\)/)
      const typed = '-17, 178\n-17, 179\n-18, 179'
      await corners.fill(typed)
      await form.getByText('Circle', { exact: true }).click()
      await form.getByRole('textbox', { name: 'Latitude' }).fill('-17')
      await form.getByText('Polygon', { exact: true }).click()
      expect(await corners.inputValue()).toBe(typed)
      await form.getByText('Circle', { exact: true }).click()
      expect(await form.getByRole('textbox', { name: 'Latitude' }).inputValue()).toBe('-17')
      await page.keyboard.press('Control+z')
      expect(await corners.inputValue()).toBe(typed)
      return page
    }
    const shown = await typeBoth()

    const { page, form, corners } = await beginAgain(shown, 'Polygon')
    await form.getByRole('textbox', { name: 'Name' }).fill('Bow tie')
    await corners.fill('-17, 178\n-17, 179\n-18, 178\n-18, 179')
    await form.getByText('It crosses itself: the edges from corner 2 and corner 4 meet.').waitFor()
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByText('The polygon crosses itself: the edges from corner 2 and corner 4 meet.').waitFor()
    const selected = () =>
      corners.evaluate((area: HTMLTextAreaElement) =>
        area.value.slice(area.selectionStart, area.selectionEnd),
      )
    await until('the second corner is selected', async () => (await selected()) === '-17, 179')
    await corners.fill('-17, 178\n-17, 179\nnowhere')
    await form.getByRole('button', { name: 'Save' }).click()
    await until('the third line is selected', async () => (await selected()) === 'nowhere')
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA')
  })

  /** The number of values that differ between two pictures by more than rounding. */
  const differing = (page: Page, ...pictures: [string, string]) =>
    page.evaluate(async pictures => {
      const [one, other] = await Promise.all(
        pictures.map(async picture => {
          const bytes = Uint8Array.from(atob(picture), char => char.charCodeAt(0))
          const bitmap = await createImageBitmap(new Blob([bytes]))
          const canvas = new OffscreenCanvas(bitmap.width, bitmap.height)
          const context = canvas.getContext('2d') as OffscreenCanvasRenderingContext2D
          context.drawImage(bitmap, 0, 0)
          return [...context.getImageData(0, 0, bitmap.width, bitmap.height).data]
        }),
      )
      return one?.filter((value, index) => Math.abs(value - (other?.[index] ?? 0)) > 8).length ?? 0
    }, pictures)

  it('the open geofence always has its name on the map', async () => {
    const shape = { type: 'circle', center: { lat: 52.52, lng: 13.4 }, radius: 1_000 }
    const { data } = (await owner.post('/geofence', { name: 'Yard by the river', shape })).body
    const page = await screens.open(`${server.url}/?fence=${data._id}`, { as: owner })
    const panel = page.getByRole('complementary', { name: 'Yard by the river' })
    /** Above the circle, which is as wide as the space beside the panel. */
    const photograph = async () => {
      await panel.getByText('Inside now').waitFor()
      const box = await page.getByRole('region', { name: /^Map of all/ }).boundingBox()
      if (!box) throw new Error('There is no map')
      const free = box.width - 324
      const radius = free / 3
      const [x, y] = [box.x + free / 2 - 60, box.y + box.height / 2 - radius - 26]
      return (await page.screenshot({ clip: { x, y, width: 120, height: 22 } })).toString('base64')
    }
    const settle = async () => {
      let last = ''
      await until('the map has settled', async () => {
        await page.waitForTimeout(1_000)
        const now = await photograph()
        const isSame = now === last
        last = now
        return isSame
      })
      return last
    }
    const alone = await settle()
    await owner.post('/geofence', { name: 'Another', shape })
    await page.reload()
    await settle()
    await until(
      'its name is there again',
      async () => (await differing(page, await photograph(), alone)) === 0,
    )
  })

  it('corners that are too close to each other get handles at a closer zoom', () => {
    const corners = [...Array(500).keys()].map((index): [number, number] => {
      const direction = (index / 500) * 2 * Math.PI
      return [13 + 0.1 * Math.cos(direction), 52 + 0.06 * Math.sin(direction)]
    })
    const shape = { type: 'polygon' as const, coordinates: corners }
    const seen = { middle: [13, 52] as [number, number], isSeen: () => true }
    const far = handlesOf(shape, { zoom: 10, ...seen }, 7)
    expect(far.length).toBeLessThan(60)
    expect(far.map(({ kind }) => kind)).toContain('whole')
    expect(far.find(({ kind, index }) => kind === 'corner' && index === 7)).toBeDefined()
    const near = handlesOf(shape, { zoom: 16, ...seen }, null)
    expect(near.filter(({ kind }) => kind === 'corner')).toHaveLength(500)
    expect(near.filter(({ kind }) => kind === 'edge')).toHaveLength(500)
  })

  it('a circle that is only partly on the map has a handle on its visible edge', () => {
    const shape = { type: 'circle' as const, center: { lat: 0, lng: 179.9 }, radius: 20_000 }
    const edgesOf = (middle: [number, number], reach: number) =>
      handlesOf(
        shape,
        { zoom: 15, middle, isSeen: ([lng, lat]) => Math.hypot(lng - middle[0], lat - middle[1]) < reach },
        null,
      ).filter(({ kind }) => kind === 'radius')
    expect(edgesOf([179.9, 0], 1)).toHaveLength(4)
    // Across the 180th meridian, to the north-east of the middle.
    const middle: [number, number] = [-179.97, 0.125]
    const [, , , , there] = edgesOf(middle, 0.01)
    const [lng, lat] = there?.place ?? []
    expect(Math.abs((lng as number) - 180.03)).toBeLessThan(0.01)
    expect(Math.abs((lat as number) - 0.125)).toBeLessThan(0.01)
    expect(distanceM(shape.center, { lng: lng as number, lat: lat as number })).toBeCloseTo(20_000, -2)
  })
})
