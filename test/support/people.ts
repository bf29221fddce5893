import { type Client, createClient } from './client.ts'
import type { Server } from './server.ts'

export const PASSWORD = 'a password of people'
let counter = 0

/** A new e-mail address. */
export const newEmail = (name = 'person') => `${name}${++counter}-${process.pid}@example.com`

export interface Person {
  client: Client
  userId: string
  email: string
  password: string
}

/** The identifier of a role by its name. */
export async function roleId(client: Client, name: string): Promise<string> {
  const { body } = await client.get('/roles?limit=500')
  const found = body.data.find((role: { name: string }) => role.name === name)
  if (!found) throw new Error(`There is no role ${name}`)
  return found._id
}

/** Invites somebody into the organization of `by` and accepts. */
export async function addPerson(
  server: Pick<Server, 'url'>,
  by: Client,
  options: { role?: string; roleId?: string; hubId?: string[]; email?: string; password?: string } = {},
): Promise<Person> {
  const { email = newEmail(), password = PASSWORD, hubId = [] } = options
  const invited = await by.post('/users/invite', {
    email,
    name: 'Person',
    roleId: options.roleId ?? (await roleId(by, options.role ?? 'Planner')),
    hubId,
  })
  if (invited.status !== 201) throw new Error(`Inviting failed: ${JSON.stringify(invited.body)}`)
  const accepted = await createClient(server, '').post('/auth/accept-invitation', {
    token: invited.body.data.invitation.token,
    name: 'Person',
    password,
  })
  if (accepted.status !== 200) throw new Error(`Accepting failed: ${JSON.stringify(accepted.body)}`)
  return {
    client: createClient(server, accepted.body.token),
    userId: accepted.body.data._id,
    email,
    password,
  }
}

export interface Organization {
  client: Client
  organizationId: string
  userId: string
  hubIds: string[]
}

/** Creates an organization with a hub; that revokes the token of `by`. */
export async function addOrganization(
  server: Pick<Server, 'url'>,
  by: Client,
  body: object = {},
): Promise<Organization> {
  const answer = await by.post('/organization', {
    organizationName: 'Another one',
    hubName: 'First hub',
    hubLat: 52.5,
    hubLng: 13.4,
    ...body,
  })
  if (answer.status !== 201) throw new Error(`Creating failed: ${JSON.stringify(answer.body)}`)
  return {
    client: createClient(server, answer.body.token),
    organizationId: answer.body.data.organizationId,
    userId: answer.body.data._id,
    hubIds: answer.body.data.hubId,
  }
}

export async function addHub(client: Client, name = 'Hub'): Promise<string> {
  const answer = await client.post('/hub', { name, lat: 48.1, lng: 11.6 })
  if (answer.status !== 201) throw new Error(`Making a hub failed: ${JSON.stringify(answer.body)}`)
  return answer.body.data._id
}
