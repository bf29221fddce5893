import { ok as check } from 'node:assert'
import {
  getDeviceById,
  getLocationHistories,
  postAuthLogin,
  postDevice,
  postGeofence,
  postLocationHistoryBulk,
} from './generated/client.js'
import type { NewPoint, NewPolygon } from './generated/model/index.js'

const { FIELDLINE_EMAIL: email = '', FIELDLINE_PASSWORD: password = '' } = process.env
const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

const signedIn = await postAuthLogin({ email, password })
check(signedIn.status === 200 && signedIn.data.status)
const session = as(signedIn.data.token)

const made = await postDevice({ name: 'Van 12' }, session)
check(made.status === 201)
const { _id: deviceId, key } = made.data.data

const points: NewPoint[] = [
  { lat: 52.52, lng: 13.405, timestamp: '2026-11-21T10:00:00Z', speed: 12.5, attributes: { ignition: true } },
  { lat: 52.53, lng: 13.406, timestamp: '2026-11-21T10:00:10Z', battery: null },
]
const sent = await postLocationHistoryBulk({ points }, as(key))
check(sent.status === 200 && sent.data.data.accepted === 2)

async function read(cursor?: string) {
  const page = await getLocationHistories({ deviceId, limit: 1, cursor }, session)
  check(page.status === 200 && typeof page.data !== 'string')
  return page.data
}
let page = await read()
while (page.data.length === 0) page = await read()
check(page.data[0]?.attributes?.ignition === true && page.data[0].speed === 12.5)
check(page.pagination.nextCursor)
const next = await read(page.pagination.nextCursor)
check(next.data[0]?.lat === 52.53 && next.data[0].battery === null)

const shape: NewPolygon = {
  type: 'polygon',
  coordinates: [
    [13.37, 52.51],
    [13.38, 52.51],
    [13.38, 52.52],
  ],
}
const fence = await postGeofence({ name: 'Depot', shape }, session)
check(fence.status === 201 && fence.data.data.shape.type === 'polygon')
check(fence.data.data.shape.coordinates[0]?.[0] === 13.37)

const unknown = await getDeviceById(fence.data.data._id, session)
check(unknown.status === 404 && unknown.data.message)
