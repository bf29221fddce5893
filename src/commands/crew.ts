import { randomBytes } from 'node:crypto'
import type { Fieldline } from '#client'
import { CommandError } from './command.ts'
import type { Credentials } from './fleet.ts'
import { isRefused, openServer, signIn } from './sign-in.ts'

/** A driver: a signed-in user, and the vehicle with the device. */
export interface Driver {
  name: string
  userId: string
  vehicleId: string
  /** Signed in as this user. */
  client: Fieldline
}

/**
 * A driver for each device: a field user with a vehicle of the device's name, on which the device is mounted. Drivers
 * of an earlier run are used again, with a new random password, because the caller may invite users and reset their
 * passwords.
 */
export async function prepareCrew(client: Fieldline, devices: readonly Credentials[]): Promise<Driver[]> {
  const { organizationId } = (await client.get('/user')).data
  const roleId = await findFieldRole(client)
  const prepare = async (device: Credentials): Promise<Driver> => {
    const name = `Driver of ${device.name}`
    // Accounts belong to the server, so each organization needs drivers of its own for the same tracks.
    const email = `${device.name}.${organizationId.slice(-12)}@drivers.example`.toLowerCase()
    const password = randomBytes(18).toString('base64url')
    const userId = await prepareUser(client, { name, email, roleId, password })
    const vehicleId = await prepareVehicle(client, device, userId)
    return { name, userId, vehicleId, client: await signIn(client.baseUrl, { email, password }) }
  }
  return Promise.all(devices.map(prepare))
}

async function findFieldRole(client: Fieldline): Promise<string> {
  const { data } = await client.get('/roles', { params: { query: { limit: 500 } } })
  const role = data.find(({ name, isDefault }) => isDefault && name === 'Field user')
  if (!role) throw new CommandError('There is no role Field user.')
  return role._id
}

/** Resolves to the user with this address, and sets the password. */
async function prepareUser(
  client: Fieldline,
  { name, email, roleId, password }: { name: string; email: string; roleId: string; password: string },
): Promise<string> {
  const known = await findUser(client, email)
  if (known && known.status !== 'invited') {
    await client.post('/user/{id}/reset-password', {
      params: { path: { id: known._id } },
      body: { newPassword: password },
    })
    return known._id
  }
  const { data } = await (known
    ? client.post('/user/{id}/invitation', { params: { path: { id: known._id } } })
    : client.post('/users/invite', { body: { email, name, roleId, hubId: [] } }))
  const { token } = data.invitation
  if (token === undefined)
    throw new CommandError('This server mails its invitations, so a program cannot accept them.')
  await openServer(client.baseUrl).post('/auth/accept-invitation', { body: { token, name, password } })
  return data._id
}

async function findUser(client: Fieldline, email: string) {
  try {
    return (await client.get('/user/email/{email}', { params: { path: { email } } })).data
  } catch (error) {
    if (isRefused(error) && error.status === 404) return null
    throw error
  }
}

async function prepareVehicle(
  client: Fieldline,
  { _id: deviceId, name }: Credentials,
  driverId: string,
): Promise<string> {
  const { data } = await client.get('/vehicles', { params: { query: { search: name, limit: 500 } } })
  const known = data.find(vehicle => vehicle.name === name)
  const vehicle = known
    ? await client.patch('/vehicle/{id}', {
        params: { path: { id: known._id } },
        body: { deviceId, driverId },
      })
    : await client.post('/vehicle', { body: { name, deviceId, driverId } })
  return vehicle.data._id
}
