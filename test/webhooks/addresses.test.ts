import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isPublicAddress } from '../../fair/public-addresses.ts'
import { createSender } from '../../src/resources/webhooks/send.ts'

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`

describe('An address that a webhook may not go to', () => {
  let server: Server
  let port: number
  let requests = 0

  beforeAll(async () => {
    server = createServer((_, response) => {
      requests++
      response.end()
    })
    server.listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    port = (server.address() as AddressInfo).port
  })
  afterAll(() => void server.close())

  const message = (host: string) => ({
    url: `http://${host}:${port}/`,
    messageId: 'msg_1',
    event: 'data-source-created',
    payload: '{}',
    secrets: [SECRET],
  })

  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.255',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '192.0.2.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd12::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:db8::1',
    '2001::1',
    'localhost',
    '',
  ])('%s is refused', address => {
    expect(isPublicAddress(address)).toBe(false)
  })

  it.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450:4001::1'])(
    '%s is not',
    address => {
      expect(isPublicAddress(address)).toBe(true)
    },
  )

  it('is refused when connecting, whatever the name said before', async () => {
    const answers = ['93.184.215.14', '127.0.0.1']
    const seen: string[] = []
    const sender = createSender({
      allowPrivate: false,
      timeoutMs: 2_000,
      resolve: async () => {
        const address = answers.shift() ?? '127.0.0.1'
        seen.push(address)
        return [{ address, family: 4 }]
      },
    })
    // Whoever checked first saw a public address; the sender trusts only what it connects to.
    const first = await sender.send(message('rebinding.example'))
    const second = await sender.send(message('rebinding.example'))
    expect(seen).toEqual(['93.184.215.14', '127.0.0.1'])
    expect(first.error).not.toBe(null)
    expect(second.error).toMatch(/is private/)
    expect(`${first.error} ${second.error}`).not.toMatch(/\d+\.\d+\.\d+\.\d+/)
    expect(requests).toBe(0)
    await sender.close()
  })

  it('is refused where one of several addresses is such', async () => {
    const addresses = ['93.184.215.14', '::ffff:127.0.0.1']
    const sender = createSender({
      allowPrivate: false,
      timeoutMs: 2_000,
      resolve: async () => addresses.map((address, at) => ({ address, family: at === 0 ? 4 : 6 })),
    })
    expect((await sender.send(message('several.example'))).error).toMatch(/is private/)
    expect(requests).toBe(0)
    await sender.close()
  })

  it('is not told by the failure of a connection to a name', async () => {
    const sender = createSender({ allowPrivate: true })
    const closed = createServer().listen(0, '127.0.0.1')
    await new Promise(resolve => closed.once('listening', resolve))
    const { port: unused } = closed.address() as AddressInfo
    await new Promise(resolve => closed.close(resolve))
    const url = `http://localhost:${unused}/`
    expect((await sender.send({ ...message(''), url })).error).toBe('connect ECONNREFUSED')
    await sender.close()
  })

  it('is taken where that is allowed', async () => {
    const sender = createSender({ allowPrivate: true })
    expect(await sender.send(message('127.0.0.1'))).toMatchObject({ statusCode: 200, error: null })
    await sender.close()
  })
})
