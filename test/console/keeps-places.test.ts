import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice } from '../support/client.ts'
import { addOrganization, addPerson, roleId } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { useBrowser } from './browser.ts'
import { holdAnswers } from './held-answers.ts'

const HOUR_MS = 3_600_000

describe('A page that is loading', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  const ids: Record<string, string> = {}
  const make = async (path: string, body: object): Promise<string> => {
    const made = await owner.post(path, body)
    expect(made, path).toMatchObject({ status: 201 })
    return made.body.data._id
  }

  beforeAll(async () => {
    const now = Date.now()
    const van = await createDevice(owner, 'Van of the night shift')
    const points = [...Array(20).keys()].map(n => ({
      timestamp: new Date(now - n * 30_000).toISOString(),
      ...{ lat: 52.5 + n * 1e-3, lng: 13.4, speed: 10 },
    }))
    const device = createClient(server, van.key)
    expect((await device.post('/location-history/bulk', { points })).status).toBe(200)
    await device.post('/location-history/bulk', { points: [{ ...points[0], lat: 100 }] })
    const expiresAt = new Date(now + HOUR_MS).toISOString()
    const link = { subjectId: van.id, subjectType: 'device', trailMinutes: 60, expiresAt }
    expect((await owner.post('/tracking-link', link)).status).toBe(201)
    const { userId } = await addPerson(server, owner)
    ids.user = userId
    ids.van = van.id
    ids.day = new Date(now).toISOString().slice(0, 10)
    const shape = { type: 'circle', center: { lat: 52.5, lng: 13.4 }, radius: 500 }
    ids.fence = await make('/geofence', { name: 'Depot in the north', shape })
    ids.hub = await make('/hub', { name: 'Depot', lat: 52, lng: 13 })
    ids.connection = await make('/connection', { name: 'LoRaWAN network', kind: 'http', profileId: 'ttn' })
    ids.team = await make('/team', { name: 'North', memberIds: [userId] })
    ids.vehicle = await make('/vehicle', { name: 'Van 1', plate: 'B-FL 1', deviceId: van.id })
    const fields = [
      { key: 'name', label: 'Name', type: 'text' },
      { key: 'place', label: 'Place', type: 'location' },
    ]
    ids.type = await make('/data-type', { name: 'Customer', fields })
    ids.record = await make('/data', { dataTypeId: ids.type, data: { name: 'Acme' } })
    const window = {
      startTime: new Date(Math.max(now - HOUR_MS / 2, Date.parse(ids.day))).toISOString(),
      endTime: new Date(now + HOUR_MS).toISOString(),
    }
    const given = { assigneeId: userId, vehicleId: ids.vehicle, teamId: ids.team, dataIds: [ids.record] }
    ids.task = await make('/task', { name: 'Deliver three parcels', ...window, ...given })
    ids.webhook = await make('/webhook', {
      url: 'https://hooks.example.com/x',
      events: ['data-source-created'],
    })
    ids.key = await make('/api-key', { name: 'Of the shop', roleId: await roleId(owner, 'Planner') })
  })

  const shows = (text: string) => async (page: Page) => (await page.getByText(text).count()) > 0
  /** The tasks of the day are read a second after the map, by a timer. After midnight it is one of yesterday. */
  const showsTaskOfToday = async (page: Page) =>
    (await shows('Deliver three parcels')(page)) || new Date().toISOString().slice(0, 10) !== ids.day
  const PAGES: [string, () => string, ((page: Page) => Promise<boolean>)?][] = [
    ['the map', () => '/'],
    ['a subject', () => `/?subject=${ids.van}`, showsTaskOfToday],
    ['a geofence', () => `/?fence=${ids.fence}`],
    ['an area that is chosen', () => `/?area=fence:${ids.fence}`],
    ['playback', () => '/playback'],
    ['a day that is played', () => `/playback?subject=device:${ids.van}`],
    ['devices', () => '/devices'],
    ['a device', () => `/devices/${ids.van}`],
    ['vehicles', () => '/vehicles'],
    ['a vehicle', () => `/vehicles/${ids.vehicle}`],
    ['teams', () => '/teams'],
    ['a team', () => `/teams/${ids.team}`],
    ['a new team', () => '/teams/new'],
    ['the teams to arrange', () => '/teams?view=board'],
    ['a hub', () => `/hubs/${ids.hub}`],
    ['geofences', () => '/geofences'],
    ['connections', () => '/connections'],
    ['a new connection', () => '/connections/new'],
    ['a connection', () => `/connections/${ids.connection}`],
    ['a new profile', () => '/tracker-profiles/new'],
    ['a new API key', () => '/api-keys/new'],
    ['an API key', () => `/api-keys/${ids.key}`],
    ['tasks', () => `/tasks?day=${ids.day}`],
    ['a timeline', () => `/tasks?day=${ids.day}&view=timeline`],
    ['tasks on a map', () => `/tasks?day=${ids.day}&view=map`],
    ['a task', () => `/tasks/${ids.task}`],
    ['a new task', () => '/tasks/new'],
    ['schedules', () => '/schedules'],
    ['a new schedule', () => '/schedules?schedule=new'],
    ['data', () => `/data-types/${ids.type}`],
    ['a data type', () => `/data-types/${ids.type}?edit=true`],
    ['a new record', () => `/data-types/${ids.type}?record=new`],
    ['a record', () => `/data-types/${ids.type}?record=${ids.record}`],
    ['imports', () => '/imports'],
    ['a new import', () => '/imports?new=true'],
    ['rejected points', () => '/rejections'],
    ['users', () => '/users'],
    ['a user', () => `/users/${ids.user}`],
    ['an invitation', () => '/users/new'],
    ['the organization', () => '/settings/organization'],
    ['roles', () => '/settings/roles'],
    ['a new role', () => '/settings/roles/new'],
    ['webhooks', () => '/settings/webhooks'],
    ['a webhook', () => `/settings/webhooks/${ids.webhook}`],
    ['the audit log', () => '/settings/audit-log'],
    ['the account', () => '/settings/account'],
    ['links', () => '/links'],
    ['the server', () => '/server'],
  ]

  const begin = async (as: Client) => {
    const page = await screens.open(`${server.url}/links`, { as, size: { width: 1_280, height: 900 } })
    await page.getByRole('heading', { level: 1 }).waitFor()
    return holdAnswers(page)
  }

  it('keeps every button, link and field in its place, in whatever order answers come', async () => {
    const answers = await begin(owner)
    const moved: string[] = []
    for (const [name, address, isWhole] of PAGES) {
      for (const what of await answers.goTo(address(), isWhole)) moved.push(`${name}: ${what}`)
    }
    expect(moved).toEqual([])
  })

  it('keeps the first step in its place, where a device is there that has sent nothing', async () => {
    const founder = await addPerson(server, owner, { role: 'Admin' })
    const { client } = await addOrganization(server, founder.client)
    await createDevice(client, 'Van of the day shift')
    const answers = await begin(client)
    expect(await answers.goTo('/', shows('Van of the day shift'))).toEqual([])
  })
})
