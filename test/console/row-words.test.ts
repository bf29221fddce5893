import { describe, expect, it } from 'vitest'
import { createClient, createDevice, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { TOOLANGI } from '../support/remote-archive.ts'
import { useBrowser } from './browser.ts'
import { whileSending } from './while-sending.ts'

const IN_THE_VILLAGE = { lat: -37.5384, lng: 145.4712 }

describe('The rows beside the map', () => {
  const { server } = useServer({ BASEMAP: TOOLANGI })
  const screens = useBrowser({ map: 'none' })

  it('say in words what somebody does, who drives and in which street, and ask for the visible rows alone', async () => {
    const { client: owner, hubIds } = await addOrganization(server, await signIn(server))
    const person = await addPerson(server, owner, { hubId: hubIds })
    const devices: string[] = []
    const keys: string[] = []
    const send = async (index: number) => {
      const points = [{ ...IN_THE_VILLAGE, speed: 10, timestamp: new Date().toISOString() }]
      const device = createClient(server, keys[index] as string)
      expect((await device.post('/location-history/bulk', { points })).status).toBe(200)
    }
    for (let index = 0; index < 80; index++) {
      const { id, key } = await createDevice(owner, `Bus ${String(index).padStart(2, '0')}`)
      devices[index] = id
      keys[index] = key
      await send(index)
    }
    const vehicle = { name: 'Bus 00', hubId: hubIds[0], deviceId: devices[0], driverId: person.userId }
    expect((await owner.post('/vehicle', vehicle)).status).toBe(201)

    const page = await screens.open('about:blank', { as: owner })
    const asked: number[] = []
    page.on('request', request => {
      if (request.url().endsWith('/api/v3/places')) asked.push(request.postDataJSON().points.length)
    })
    const sendBoth = () => Promise.all([send(0), send(3)])
    await whileSending(sendBoth, async () => {
      await page.goto(server.url)
      await page
        .getByRole('option', { name: /Bus 00\s*Moving · 36 km\/h\s*Person · C\. J\. Dennis Road/ })
        .waitFor()
      await page.getByRole('option', { name: /Bus 03\s*Moving · 36 km\/h\s*C\. J\. Dennis Road/ }).waitFor()
    })
    // All of them are in one cell.
    expect(Math.max(...asked)).toBe(1)
    const idsOf = (url: string) =>
      /\/devices\?/.test(url) ? (new URL(url).searchParams.get('_id')?.split(',') ?? []) : []
    // One for the rows above may still come first.
    const drivers = page.waitForRequest(request => idsOf(request.url()).includes(devices.at(-1) as string))
    await page.getByRole('listbox').press('End')
    expect(idsOf((await drivers).url()).length).toBeLessThanOrEqual(60)
  })
})
