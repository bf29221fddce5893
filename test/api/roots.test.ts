import { describe, expect, it } from 'vitest'
import { createClient, signIn } from '../support/client.ts'
import { openTestDatabase } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson, newEmail, PASSWORD } from '../support/people.ts'

const PERSON = { name: 'Anna Berg', organizationName: 'Bergwerk', hubName: 'Hub', hubLat: 1, hubLng: 2 }

describe('The root of an organization', () => {
  const { server, database } = useServer({ ALLOW_SIGNUP: 'true', TRUSTED_PROXIES: 'loopback' })
  const rootsOf = async (ids: readonly string[]) => {
    const db = await openTestDatabase(database)
    const rows = await db.system.query<{ id: string; root: string }>(
      'SELECT id, root FROM organizations WHERE id = ANY($1::uuid[])',
      [ids],
    )
    await db.close()
    return ids.map(id => rows.find(row => row.id === id)?.root as string)
  }

  it('is whoever its creator goes back to, by invitations, and itself where the server is run by that one', async () => {
    const invited = await Promise.all(
      [1, 2].map(async () => addPerson(server, await signIn(server), { role: 'Admin' })),
    )
    const [one, other] = invited as [(typeof invited)[0], (typeof invited)[0]]
    const first = await addOrganization(server, one.client)
    const second = await addOrganization(server, first.client)
    const sock = await addPerson(server, second.client, { role: 'Admin' })
    const third = await addOrganization(server, sock.client)
    const independent = await addOrganization(server, other.client)
    const operators = await addOrganization(server, await signIn(server))
    const ids = [first, second, third, independent, operators].map(({ organizationId }) => organizationId)
    const roots = await rootsOf(ids)
    expect(roots.slice(1, 3)).toEqual([roots[0], roots[0]])
    expect(new Set(roots).size).toBe(3)
    expect(roots[4]).toBe(operators.organizationId)
  })

  it('that has all the organizations it may keeps nobody on its network address from registering', async () => {
    const db = await openTestDatabase(database)
    await db.system.query(`UPDATE row_caps SET max = 1 WHERE table_name = 'organizations'`)
    const register = () =>
      fetch(`${server.url}/api/v3/auth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.77' },
        body: JSON.stringify({ ...PERSON, email: newEmail(), password: PASSWORD }),
      })
    const first = (await (await register()).json()) as { token: string }
    const another = await createClient(server, first.token).post('/organization', {
      organizationName: 'More',
    })
    expect([another.status, (await register()).status]).toEqual([409, 201])
    await db.system.query(`UPDATE row_caps SET max = 100 WHERE table_name = 'organizations'`)
    await db.close()
  })

  it('is one for accounts that register from one network address within a day, unless it is this machine', async () => {
    const register = async (address: string) => {
      const answer = await fetch(`${server.url}/api/v3/auth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
        body: JSON.stringify({ ...PERSON, email: newEmail(), password: PASSWORD }),
      })
      const { data } = (await answer.json()) as { data: { organizationId: string } }
      return data.organizationId
    }
    const ids: string[] = []
    for (const address of [
      '192.0.2.1',
      '192.0.2.1',
      '192.0.2.2',
      '2001:db8::1',
      '2001:db8:0:7::2',
      '127.0.0.1',
      '127.0.0.1',
    ])
      ids.push(await register(address))
    const [a, b, c, d, e, f, g] = await rootsOf(ids)
    expect([b, e]).toEqual([a, d])
    expect(new Set([a, c, d, f, g]).size).toBe(5)
  })
})
