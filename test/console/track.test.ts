import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createClient, createDevice, type TestDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'

const PHONE = { width: 390, height: 844 }

describe('The page of a tracking link', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser()

  const send = async (device: TestDevice, point: object) => {
    const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString(), ...point }]
    const { status } = await createClient(server, device.key).post('/location-history/bulk', { points })
    expect(status).toBe(200)
  }
  const share = async ({ id }: TestDevice, more: object = {}) => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const body = { subjectId: id, subjectType: 'device', trailMinutes: 60, expiresAt, ...more }
    return (await owner.post('/tracking-link', body)).body.data as { _id: string; url: string; token: string }
  }
  /** What the page takes for now, in the future. */
  const setAhead = (page: Page, ms: number) =>
    page.evaluate(ahead => {
      Date.now = () => performance.timeOrigin + performance.now() + ahead
    }, ms)
  const see = (page: Page, sentence: RegExp) =>
    page.getByRole('img', { name: new RegExp(`: ${sentence.source}`) }).waitFor()

  it('draws no trail where the link has none, and else that of its last minutes, however long it is open', async () => {
    const van = await createDevice(owner, 'Van 1')
    await send(van, { speed: 10 })
    const look = async (trailMinutes: number) =>
      screens.open((await share(van, { trailMinutes })).url, { size: PHONE, mayFail: /willReadFrequently/ })
    const minute = await look(1)
    await see(minute, /moving, 36 km\/h/)
    // Opened later, its marker is there sooner: it takes as long as the point before was shown.
    const none = await look(0)
    /** Whether something is drawn to the left of the marker, and nothing above and below that. */
    const hasTrail = (page: Page) =>
      page.locator('canvas').evaluate((canvas: HTMLCanvasElement) => {
        const read = (up: number) =>
          `${canvas.getContext('2d')?.getImageData(canvas.width / 2 - 30, canvas.height / 2 - up, 1, 1).data}`
        return read(0) !== read(9) && read(9) === read(-9)
      })
    await see(none, /moving, 36 km\/h/)
    // 47 pixels to the east.
    await send(van, { lng: 13.402, speed: 20 })
    for (const page of [none, minute]) await see(page, /moving, 72 km\/h/)
    await until('what it has left behind is drawn', () => hasTrail(minute))
    expect(await hasTrail(none)).toBe(false)
    await setAhead(minute, 120_000)
    await until('what is longer ago is not', async () => !(await hasTrail(minute)))
  })
})
