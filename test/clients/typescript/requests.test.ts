import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Fieldline, FieldlineError } from '#client'
import { addApiKey } from '../../support/api-keys.ts'
import { addPerson, PASSWORD } from '../../support/people.ts'
import { type NetworkProxy, startProxy } from '../../support/proxy.ts'
import { addSecondFactor, codeOf } from '../../support/second-factor.ts'
import { useOrganization } from '../../support/shared-server.ts'
import { until } from '../../support/wait.ts'

const portOf = (url: string) => Number(new URL(url).port)

describe('The TypeScript client', () => {
  const { server, owner } = useOrganization()
  let network: NetworkProxy
  let fieldline: Fieldline
  beforeAll(async () => {
    network = await startProxy(() => portOf(server.url), { noticedAfterMs: 100 })
    const baseUrl = `http://127.0.0.1:${network.port}`
    fieldline = new Fieldline({ baseUrl, token: owner.token, answerWithinMs: 1_000 })
  })
  afterAll(() => network.close())

  it('signs in, and uses the token from then on', async () => {
    const someone = new Fieldline({ baseUrl: `${server.url}/` })
    const email = String((await fieldline.get('/user')).data.email)
    await someone.login({ email, password: PASSWORD })
    expect((await someone.get('/user')).data.email).toBe(email)
    const wrong = await someone.login({ email, password: 'a wrong password' }).catch(error => error)
    expect(wrong).toBeInstanceOf(FieldlineError)
    expect(wrong.status).toBe(401)
  })

  it('signs in with a code where the account has a second factor', async () => {
    const { client, email } = await addPerson(server, owner)
    const { secret, recoveryCodes } = await addSecondFactor(client)
    let refreshed = 0
    const refreshToken = async () => {
      refreshed++
      return owner.token
    }
    const someone = new Fieldline({ baseUrl: server.url, refreshToken })
    const account = { email, password: PASSWORD }
    await expect(someone.login(account)).rejects.toMatchObject({ code: 'totp-required' })
    await expect(someone.login({ ...account, code: '000000' })).rejects.toMatchObject({ code: 'wrong-code' })
    expect([someone.token, refreshed]).toEqual([undefined, 0])
    await someone.login({ ...account, code: codeOf(secret) })
    expect((await someone.get('/user')).data.email).toBe(email)
    await someone.login({ ...account, code: recoveryCodes[0] as string })
    expect((await someone.get('/user')).data.secondFactor?.recoveryCodesLeft).toBe(9)
  })

  it('takes an API key', async () => {
    const { key } = await addApiKey(server, owner, { role: 'Admin', name: 'Planner of routes' })
    const program = new Fieldline({ baseUrl: server.url, token: key })
    expect((await program.get('/user')).data).toMatchObject({ kind: 'api-key', name: 'Planner of routes' })
  })

  it('throws what the server says of a request that is wrong', async () => {
    const failed = fieldline.post('/device', { body: { name: '' } })
    const error = (await failed.catch(reason => reason)) as FieldlineError
    expect(error).toBeInstanceOf(FieldlineError)
    expect([error.status, error.errors.map(({ path }) => path)]).toEqual([400, ['name']])
    expect(error.requestId).toMatch(/\S/)
    const missing = fieldline.get('/device/{id}', { params: { path: { id: crypto.randomUUID() } } })
    await expect(missing).rejects.toMatchObject({ status: 404, code: 'not-found' })
  })

  it('reads a list page by page, and record by record', async () => {
    for (let n = 0; n < 5; n++) await fieldline.post('/hub', { body: { name: `Paged ${n}`, lat: 1, lng: 2 } })
    const init = { params: { query: { limit: 2, sort: 'name' as const, search: 'Paged' } } }
    const sizes: number[] = []
    for await (const page of fieldline.pages('/hubs', init)) sizes.push(page.length)
    expect(sizes).toEqual([2, 2, 1])
    const names: string[] = []
    for await (const { name } of fieldline.records('/hubs', init)) names.push(name)
    expect(names).toEqual([0, 1, 2, 3, 4].map(n => `Paged ${n}`))
    // Whoever leaves the loop reads no further page.
    const before = network.bytes
    for await (const hub of fieldline.records('/hubs', init)) {
      expect(hub.name).toBe('Paged 0')
      break
    }
    const once = network.bytes - before
    expect(once).toBeLessThan(2 * 1_000)
  })

  it('creates a record once when the answer to the first request is lost', async () => {
    const waits: string[] = []
    const patient = new Fieldline({
      ...{ baseUrl: fieldline.baseUrl, token: owner.token, answerWithinMs: 1_000 },
      onWait({ code }) {
        waits.push(code)
        network.set('clear')
      },
    })
    network.set('answers lost')
    await patient.post('/team', { body: { name: 'Night shift' } })
    expect(new Set(waits)).toEqual(new Set(['unreachable']))
    const { data } = await patient.get('/teams', { params: { query: { search: 'Night shift' } } })
    expect(data).toHaveLength(1)
  })

  it('waits as long as the server asks it to, and no longer than it may', async () => {
    let answers = 0
    // A proxy in front of a server is not Fieldline either.
    const proxy = createServer((_request, response) => {
      answers++
      if (answers < 3) response.writeHead(503, { 'retry-after': '0' }).end('<h1>Starting</h1>')
      else
        response
          .writeHead(429, { 'retry-after': '3600' })
          .end('{"status":false,"message":"Later.","code":"rate-limited"}')
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const client = new Fieldline({
      baseUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
      token: 'x',
    })
    await expect(client.get('/user')).rejects.toMatchObject({ status: 429, code: 'rate-limited' })
    expect(answers).toBe(3)
    proxy.closeAllConnections()
    proxy.close()
    const away = new Fieldline({ baseUrl: client.baseUrl, token: 'x', retryForMs: 0 })
    await expect(away.get('/user')).rejects.toMatchObject({ status: 0, code: 'unreachable' })
  })

  it('replaces a token that has ended, once for all requests that were under way with it', async () => {
    const { email } = await addPerson(server, owner, { role: 'Admin' })
    let signedIn = 0
    const refreshToken = async () => {
      signedIn++
      return (await new Fieldline({ baseUrl: server.url }).login({ email, password: PASSWORD })).token
    }
    const client = new Fieldline({ baseUrl: server.url, token: 'has-ended', refreshToken })
    await Promise.all([client.get('/user'), client.get('/devices'), client.get('/user')])
    expect(signedIn).toBe(1)
    client.token = 'has-ended-too'
    for await (const { type } of client.live()) {
      expect(type).toBe('snapshot')
      break
    }
    expect(signedIn).toBe(2)
  })

  it('stops waiting when it is told to', async () => {
    const stop = new AbortController()
    let waits = 0
    const client = new Fieldline({ ...{ baseUrl: 'http://127.0.0.1:9', token: 'x' }, onWait: () => waits++ })
    const asked = client.get('/user', { signal: stop.signal }).catch(error => error)
    await until('it waits', () => waits > 0)
    stop.abort(new Error('enough'))
    expect((await asked).message).toBe('enough')
  })
})
