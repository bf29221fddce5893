import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, expect } from 'vitest'
import { type Client, createClient, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import type { Server } from '../support/server.ts'

/** A fix of a device, some seconds ago. */
export async function send(
  server: Pick<Server, 'url'>,
  device: TestDevice,
  point: object,
  secondsAgo = 0,
): Promise<void> {
  const timestamp = new Date(Date.now() - secondsAgo * 1_000).toISOString()
  const points = [{ lat: 52.52, lng: 13.4, timestamp, ...point }]
  const answer = await createClient(server, device.key).post('/location-history/bulk', { points })
  expect(answer.status).toBe(200)
}

export const list = (page: Page) => page.getByRole('listbox', { name: 'What is on the map' })
export const names = (page: Page) => list(page).getByRole('option').allInnerTexts()
export const isLive = (page: Page) => page.getByRole('status').getByText('Live').waitFor()

/** A server for the test file with four devices on its map; `Van 7` moves, with a fix for each test. */
export function useMovingFleet(): { server: Server; owner: Client; van: TestDevice } {
  const { server } = useServer()
  // Filled later, so that a file can use the names before anything runs.
  const owner = {} as Client
  const van = {} as TestDevice

  beforeAll(async () => {
    Object.assign(owner, await signIn(server))
    await owner.patch('/organization', { timeZone: 'Europe/Berlin', language: 'en' })
    Object.assign(van, await createDevice(owner, 'Van 7'))
    await send(server, await createDevice(owner, 'Bike 10'), { lat: 52.6, speed: 0 }, 30)
    await send(server, await createDevice(owner, 'Bike 9'), { lat: 52.7, speed: 0 }, 60)
    await send(server, await createDevice(owner, 'Truck'), { lat: 52.8, speed: 20 }, 3_600)
  })
  // A minute after its newest fix it would be idle.
  beforeEach(() => send(server, van, { speed: 10, heading: 90, battery: 64, accuracy: 8 }))
  return { server, owner, van }
}
