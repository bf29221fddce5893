import { randomBytes } from 'node:crypto'
import { type Api, createApi, RequestFailed, signIn } from './api.ts'
import type { Credentials } from './fleet.ts'

/** A driver: a signed-in user, and the vehicle with the device. */
export interface Driver {
  name: string
  userId: string
  vehicleId: string
  /** The interface with this user's token. */
  api: Api
}

interface User {
  _id: string
  status: 'active' | 'invited' | 'suspended'
}
interface Invited {
  invitation: { token: string }
}

/**
 * A driver for each device: a field user with a vehicle of the device's name, on which the device is mounted. Drivers
 * of an earlier run are used again, with a new random password, because the caller may invite users and reset their
 * passwords.
 */
export async function prepareCrew(url: string, api: Api, devices: readonly Credentials[]): Promise<Driver[]> {
  const { organizationId } = (await api.call<{ data: { organizationId: string } }>('GET', '/user')).data
  const roleId = await findFieldRole(api)
  const prepare = async (device: Credentials): Promise<Driver> => {
    const name = `Driver of ${device.name}`
    // Accounts belong to the server, so each organization needs drivers of its own for the same tracks.
    const email = `${device.name}.${organizationId.slice(-12)}@drivers.example`.toLowerCase()
    const password = randomBytes(18).toString('base64url')
    const userId = await prepareUser(url, api, { name, email, roleId, password })
    const token = await signIn(url, { email, password })
    const vehicleId = await prepareVehicle(api, device, userId)
    return { name, userId, vehicleId, api: createApi(url, token) }
  }
  return Promise.all(devices.map(prepare))
}

async function findFieldRole(api: Api): Promise<string> {
  const { data } = await api.call<{ data: { _id: string; name: string; isDefault: boolean }[] }>(
    'GET',
    '/roles?limit=500',
  )
  const role = data.find(({ name, isDefault }) => isDefault && name === 'Field user')
  if (!role) throw new RequestFailed(404, 'There is no role Field user.')
  return role._id
}

/** Resolves to the user with this address, and sets the password. */
async function prepareUser(
  url: string,
  api: Api,
  { name, email, roleId, password }: { name: string; email: string; roleId: string; password: string },
): Promise<string> {
  const known = await findUser(api, email)
  if (known && known.status !== 'invited') {
    await api.call('POST', `/user/${known._id}/reset-password`, { newPassword: password })
    return known._id
  }
  const { data } = await (known
    ? api.call<{ data: User & Invited }>('POST', `/user/${known._id}/invitation`)
    : api.call<{ data: User & Invited }>('POST', '/users/invite', { email, name, roleId, hubId: [] }))
  const { token } = data.invitation
  await createApi(url).call('POST', '/auth/accept-invitation', { token, name, password })
  return data._id
}

async function findUser(api: Api, email: string): Promise<User | null> {
  try {
    return (await api.call<{ data: User }>('GET', `/user/email/${encodeURIComponent(email)}`)).data
  } catch (error) {
    if (error instanceof RequestFailed && error.status === 404) return null
    throw error
  }
}

async function prepareVehicle(
  api: Api,
  { _id: deviceId, name }: Credentials,
  driverId: string,
): Promise<string> {
  const { data } = await api.call<{ data: { _id: string; name: string }[] }>(
    'GET',
    `/vehicles?search=${encodeURIComponent(name)}&limit=500`,
  )
  const known = data.find(vehicle => vehicle.name === name)
  const vehicle = known
    ? await api.call<{ data: { _id: string } }>('PATCH', `/vehicle/${known._id}`, { deviceId, driverId })
    : await api.call<{ data: { _id: string } }>('POST', '/vehicle', { name, deviceId, driverId })
  return vehicle.data._id
}
