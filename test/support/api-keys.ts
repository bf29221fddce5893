import { type Client, createClient } from './client.ts'
import { roleId } from './people.ts'
import type { Server } from './server.ts'
import { until } from './wait.ts'

export interface TestKey {
  client: Client
  id: string
  key: string
}

/** Creates an API key in the organization of `by`. */
export async function addApiKey(
  server: Pick<Server, 'url'>,
  by: Client,
  options: { role?: string; roleId?: string; hubId?: string[]; name?: string; expiresAt?: string } = {},
): Promise<TestKey> {
  const { role = 'Planner', name = 'Program', hubId = [], expiresAt = null } = options
  const body = { name, hubId, expiresAt, roleId: options.roleId ?? (await roleId(by, role)) }
  const answer = await by.post('/api-key', body)
  if (answer.status !== 201) throw new Error(`Creating an API key failed: ${JSON.stringify(answer.body)}`)
  const { _id: id, key } = answer.body.data
  return { client: createClient(server, key), id, key }
}

/** Lets an API key expire, and waits until it has. */
export async function expireKey(by: Client, { client, id }: Pick<TestKey, 'client' | 'id'>): Promise<void> {
  await until('it is given an end', async () => {
    const expiresAt = new Date(Date.now() + 1_000).toISOString()
    const { status, body } = await by.patch(`/api-key/${id}`, { expiresAt })
    // On a machine that pauses, the time may be over when it arrives.
    const isLate = status === 400 && body.errors[0].code === 'too-early'
    if (status !== 200 && !isLate) throw new Error(`Ending an API key failed: ${JSON.stringify(body)}`)
    return !isLate
  })
  await until('it has expired', async () => (await client.get('/user')).status === 401)
}
