import { createSecretKey } from 'node:crypto'
import { SignJWT } from 'jose'
import { addApiKey } from './api-keys.ts'
import type { Client } from './client.ts'
import { addPerson } from './people.ts'
import type { Server } from './server.ts'

/** Tokens of an organization that are none, or none any more, each with what is wrong with it. */
export async function listBadTokens(
  server: Pick<Server, 'url'>,
  owner: Client,
  { secret, organizationId }: { secret: string; organizationId: string },
): Promise<[kind: string, token: string][]> {
  const sign = (claims: object, by = secret, expires = '1 h') =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime(expires)
      .sign(createSecretKey(Buffer.from(by)))
  const { exp: _exp, ...claims } = JSON.parse(
    Buffer.from(owner.token.split('.')[1] ?? '', 'base64url').toString(),
  )
  const revoked = await addPerson(server, owner)
  await revoked.client.post('/auth/logout')
  const suspended = await addPerson(server, owner)
  await owner.patch(`/user/${suspended.userId}`, { status: 'suspended' })
  const [deleted, rotated] = [await addApiKey(server, owner), await addApiKey(server, owner)]
  await owner.delete(`/api-key/${deleted.id}`)
  await owner.post(`/api-key/${rotated.id}/rotate`, {})
  return [
    ['none', ''],
    ['garbage', 'garbage'],
    ['forged', await sign(claims, 'another secret of thirty-two characters')],
    ['expired', await sign(claims, secret, '-1 s')],
    ['of another organization by its claim', await sign({ ...claims, org: organizationId })],
    ['revoked', revoked.client.token],
    ['of a suspended user', suspended.client.token],
    ['of a deleted API key', deleted.key],
    ['of a rotated API key', rotated.key],
    ['of an API key’s form', `flk_${'A'.repeat(43)}`],
  ]
}
