import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, signIn } from '../support/client.ts'
import { importFile } from '../support/imports.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson, PASSWORD, roleId } from '../support/people.ts'

let counter = 0

/** A new address, and other spellings of it. */
const newSpellings: { [name: string]: () => [string, ...string[]] } = {
  'the case of letters beyond ASCII': () => {
    const number = ++counter
    return [`änna${number}@example.com`, `ÄNNA${number}@EXAMPLE.com`, `Änna${number}@Example.com`]
  },
  'how an accent was typed': () => {
    const address = `zoë${++counter}@example.com`
    return [address, address.normalize('NFD'), address.toUpperCase().normalize('NFD')]
  },
  'a domain as it is read and as it is asked for': () => {
    const local = `anna${++counter}`
    return [`${local}@bücher.example`, `${local}@xn--bcher-kva.example`, `${local}@BÜCHER.example`]
  },
}

describe('One e-mail address', () => {
  const { server } = useServer({ ALLOW_SIGNUP: 'true' })
  let owner: Client
  let stranger: Client

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
    stranger = createClient(server, '')
  })
  const login = (email: string, password = PASSWORD) => stranger.post('/auth/login', { email, password })

  describe.each(Object.keys(newSpellings))('that differs by %s', name => {
    const spell = newSpellings[name] as () => [string, ...string[]]

    it('is one account, which signs in, is found, is invited and is guessed at by each spelling', async () => {
      const [email, ...others] = spell()
      const { userId } = await addPerson(server, owner, { email })
      const role = await roleId(owner, 'Planner')
      for (const other of others) {
        expect((await login(other)).status, other).toBe(200)
        expect((await owner.get(`/user/email/${encodeURIComponent(other)}`)).body.data).toMatchObject({
          _id: userId,
          email,
        })
        const again = { email: other, name: 'Again', roleId: role, hubId: [] }
        expect((await owner.post('/users/invite', again)).status, other).toBe(409)
        const organization = { organizationName: 'Other', hubName: 'Hub', hubLat: 1, hubLng: 1 }
        const registered = { name: 'Twin', email: other, password: PASSWORD, ...organization }
        expect((await stranger.post('/auth/register', registered)).status, other).toBe(409)
      }
      // Wrong passwords have one count.
      const spellings = [email, ...others]
      for (let guess = 0; guess < 5; guess++)
        expect((await login(spellings[guess % 3] as string, `guess number ${guess}`)).status).toBe(401)
      for (const spelling of spellings) expect((await login(spelling)).status).toBe(429)
    })

    it('is one value of a unique field, and of a primary key, written or imported', async () => {
      const [email, ...others] = spell()
      const fields = [
        { key: 'email', label: 'E-mail', type: 'email' },
        { key: 'note', label: 'Note', type: 'text' },
      ]
      const type = { name: crypto.randomUUID(), primaryKey: 'email', fields }
      const dataTypeId = (await owner.post('/data-type', type)).body.data._id
      const recordId = (await owner.post('/data', { dataTypeId, data: { email } })).body.data._id
      for (const other of others) {
        expect((await owner.post('/data', { dataTypeId, data: { email: other } })).status, other).toBe(409)
        const found = await owner.get(`/data/type/${type.name}/${encodeURIComponent(other)}`)
        expect(found.body.data?._id, other).toBe(recordId)
      }
      const rows = [email, ...others].map(spelling => `${spelling};${spelling.length}`)
      const file = `E-mail;Note\n${rows.join('\n')}`
      const done = await importFile(server, owner, file, { dataTypeId, mode: 'upsert' })
      expect([done.created, done.updated, done.failed]).toEqual([0, 1, others.length])
      expect((await owner.patch(`/data/${recordId}`, { data: { email: others[0] } })).status).toBe(200)
      expect((await owner.post('/data', { dataTypeId, data: { email } })).status).toBe(409)
      expect((await owner.delete(`/data/${recordId}`)).status).toBe(200)
      expect((await owner.post('/data', { dataTypeId, data: { email } })).status).toBe(201)
    })
  })

  it('is not another one that only looks like it', async () => {
    const number = ++counter
    const different = ['strasse', 'straße', 'İda', 'ida', 'ıda', 'anna', 'änna']
    const role = await roleId(owner, 'Planner')
    const invite = async (email: string) =>
      (await owner.post('/users/invite', { email, name: 'Alike', roleId: role, hubId: [] })).status
    for (const local of different)
      expect([local, await invite(`${local}${number}@example.com`)]).toEqual([local, 201])
    for (const [one, other] of [
      ['a@faß.example', 'a@fass.example'],
      ['a@bücher.example', 'a@bucher.example'],
    ])
      for (const address of [one, other])
        expect([address, await invite(`${number}${address as string}`)]).toEqual([address, 201])
    expect(await invite(`ANNA${number}@example.com`)).toBe(409)
  })
})
