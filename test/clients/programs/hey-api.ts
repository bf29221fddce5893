import { ok as check } from 'node:assert'
import { client } from './generated/client.gen.js'
import {
  getDeviceById,
  getLocationHistories,
  postAuthLogin,
  postDevice,
  postGeofence,
  postLocationHistoryBulk,
} from './generated/index.js'
import type { NewPoint, NewPolygon } from './generated/types.gen.js'

const {
  FIELDLINE_URL: baseUrl = '',
  FIELDLINE_EMAIL: email = '',
  FIELDLINE_PASSWORD: password = '',
} = process.env
client.setConfig({ baseUrl })

const signedIn = await postAuthLogin({ body: { email, password } })
check(signedIn.data?.status)
client.setConfig({ baseUrl, auth: signedIn.data.token })

const made = await postDevice({ body: { name: 'Van 12' } })
check(made.data)
const { _id: deviceId, key } = made.data.data

const points: NewPoint[] = [
  { lat: 52.52, lng: 13.405, timestamp: '2026-11-21T10:00:00Z', speed: 12.5, attributes: { ignition: true } },
  { lat: 52.53, lng: 13.406, timestamp: '2026-11-21T10:00:10Z', battery: null },
]
const sent = await postLocationHistoryBulk({ body: { points }, auth: key })
check(sent.data?.data.accepted === 2)

const read = (cursor?: string) => getLocationHistories({ query: { deviceId, limit: 1, cursor } })
let page = await read()
while (page.data && typeof page.data !== 'string' && page.data.data.length === 0) page = await read()
check(page.data && typeof page.data !== 'string')
check(page.data.data[0]?.attributes?.ignition === true && page.data.data[0].speed === 12.5)
check(page.data.pagination.nextCursor)
const next = await read(page.data.pagination.nextCursor)
check(next.data && typeof next.data !== 'string')
check(next.data.data[0]?.lat === 52.53 && next.data.data[0].battery === null)

const shape: NewPolygon = {
  type: 'polygon',
  coordinates: [
    [13.37, 52.51],
    [13.38, 52.51],
    [13.38, 52.52],
  ],
}
const fence = await postGeofence({ body: { name: 'Depot', shape } })
check(fence.data?.data.shape.type === 'polygon' && fence.data.data.shape.coordinates[0]?.[0] === 13.37)

const unknown = await getDeviceById({ path: { id: fence.data.data._id } })
check(unknown.response?.status === 404 && unknown.error?.message)
