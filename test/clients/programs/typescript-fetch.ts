import { ok as check } from 'node:assert'
import {
  AccountsApi,
  Configuration,
  DevicesApi,
  GeofencesApi,
  LocationHistoryApi,
  type NewPoint,
  ResponseError,
} from './generated/index.js'

const {
  FIELDLINE_URL: basePath = '',
  FIELDLINE_EMAIL: email = '',
  FIELDLINE_PASSWORD: password = '',
} = process.env

const signedIn = await new AccountsApi(new Configuration({ basePath })).postAuthLogin({
  postAuthLoginBody: { email, password },
})
check(signedIn.status)
const session = new Configuration({ basePath, accessToken: signedIn.token })

const devices = new DevicesApi(session)
const { data: device } = await devices.postDevice({ newDevice: { name: 'Van 12' } })
check(device.createdAt instanceof Date)

const points: NewPoint[] = [
  { lat: 52.52, lng: 13.405, timestamp: '2026-11-21T10:00:00Z', speed: 12.5, attributes: { ignition: true } },
  { lat: 52.53, lng: 13.406, timestamp: '2026-11-21T10:00:10Z', battery: null },
]
const own = new LocationHistoryApi(new Configuration({ basePath, accessToken: device.key }))
const sent = await own.postLocationHistoryBulk({ newPoints: { points } })
check(sent.data.accepted === 2)

const history = new LocationHistoryApi(session)
const read = (cursor?: string) => history.getLocationHistories({ deviceId: device.id, limit: 1, cursor })
let page = await read()
while (page.data.length === 0) page = await read()
check(page.data[0]?.attributes?.ignition === true && page.data[0].speed === 12.5)
check(page.pagination.nextCursor)
const next = await read(page.pagination.nextCursor)
check(next.data[0]?.lat === 52.53 && next.data[0].battery === null)

const coordinates = [
  [13.37, 52.51],
  [13.38, 52.51],
  [13.38, 52.52],
]
const fence = await new GeofencesApi(session).postGeofence({
  newGeofence: { name: 'Depot', shape: { type: 'polygon', coordinates } },
})
check(fence.data.shape.type === 'polygon' && fence.data.shape.coordinates[0]?.[0] === 13.37)

const unknown = await devices.getDeviceById({ id: fence.data.id }).catch((error: unknown) => error)
check(unknown instanceof ResponseError && unknown.response.status === 404)
