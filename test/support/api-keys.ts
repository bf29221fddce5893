import { type Client, createClient } from './client.ts'
import { roleId } from './people.ts'
import type { Server } from './server.ts'

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
