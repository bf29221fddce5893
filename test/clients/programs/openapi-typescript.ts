import { ok as check } from 'node:assert'
import createClient from 'openapi-fetch'
// The types of the build; in the full run those of openapi-typescript itself (../run.ts).
import type { components, paths } from '../../../console/api/interface.d.ts'

const {
  FIELDLINE_URL: baseUrl = '',
  FIELDLINE_EMAIL: email = '',
  FIELDLINE_PASSWORD: password = '',
} = process.env
const as = (token: string) => ({ authorization: `Bearer ${token}` })
// For an operation that also returns files, its JSON answer.
const client = createClient<paths, 'application/json'>({ baseUrl })

const signedIn = await client.POST('/api/v3/auth/login', { body: { email, password } })
check(signedIn.data?.status)
const headers = as(signedIn.data.token)

const made = await client.POST('/api/v3/device', { body: { name: 'Van 12' }, headers })
check(made.data)
const { _id: deviceId, key } = made.data.data

const points: components['schemas']['NewPoint'][] = [
  { lat: 52.52, lng: 13.405, timestamp: '2026-11-21T10:00:00Z', speed: 12.5, attributes: { ignition: true } },
  { lat: 52.53, lng: 13.406, timestamp: '2026-11-21T10:00:10Z', battery: null },
]
const sent = await client.POST('/api/v3/location-history/bulk', { body: { points }, headers: as(key) })
check(sent.data?.data.accepted === 2)

const read = (cursor?: string) =>
  client.GET('/api/v3/location-histories', { params: { query: { deviceId, limit: 1, cursor } }, headers })
let page = await read()
while (page.data?.data.length === 0) page = await read()
check(page.data?.data[0]?.attributes?.ignition === true && page.data.data[0].speed === 12.5)
check(page.data.pagination.nextCursor)
const next = await read(page.data.pagination.nextCursor)
check(next.data?.data[0]?.lat === 52.53 && next.data.data[0].battery === null)

const shape: components['schemas']['NewPolygon'] = {
  type: 'polygon',
  coordinates: [
    [13.37, 52.51],
    [13.38, 52.51],
    [13.38, 52.52],
  ],
}
const fence = await client.POST('/api/v3/geofence', { body: { name: 'Depot', shape }, headers })
check(fence.data?.data.shape.type === 'polygon' && fence.data.data.shape.coordinates[0]?.[0] === 13.37)

const unknown = await client.GET('/api/v3/device/{id}', {
  params: { path: { id: fence.data.data._id } },
  headers,
})
check(unknown.response.status === 404 && unknown.error?.message)
