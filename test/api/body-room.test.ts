import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createBodyRoom } from '../../src/http/body-room.ts'
import { type Client, createClient, createDevice, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization } from '../support/people.ts'
import { OWNER } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'

const MIB = 1024 * 1024

describe('The memory for bodies', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  const MAX_BYTES = 64 * MIB
  const pass = (ms: number) => void vi.advanceTimersByTime(ms)

  function begin() {
    const room = createBodyRoom({ maxBytes: MAX_BYTES, bytesPerS: 16 * 1024, graceMs: 2_000 })
    const cut: string[] = []
    return { cut, enter: (owner: string) => room.enter(owner, () => cut.push(owner)) }
  }

  it('is taken by bytes that have arrived, and by no promise of more', () => {
    const { enter } = begin()
    for (let at = 0; at < 100_000; at++) enter(`address ${at % 100}`)
    expect(enter('other').add(31 * MIB)).toBe(true)
  })

  it('is half of the free room for each owner, and never more than there is', () => {
    const { enter } = begin()
    let held = 0
    for (let owner = 0; owner < 64; owner++) {
      const before = held
      for (const place = enter(`owner ${owner}`); place.add(8_000); ) held += 8_000
      // A body without room gives back its place.
      held = before
      const place = enter(`owner ${owner}`)
      for (let bytes = 0; bytes < (MAX_BYTES - held) / 4 && place.add(8_000); bytes += 8_000) held += 8_000
    }
    expect(held).toBeLessThan(MAX_BYTES)
    expect(enter('newcomer').add(100)).toBe(true)
  })

  it('counts what each piece costs: a body in pieces of one byte takes hundreds of times its length', () => {
    const place = begin().enter('one')
    let pieces = 0
    while (place.add(1)) pieces++
    expect(pieces).toBeLessThan(100_000)
  })

  it('is taken from bodies that arrive too slowly as soon as another needs it, the slowest first', () => {
    const { enter, cut } = begin()
    enter('first').add(31 * MIB)
    pass(1_000)
    const second = enter('second')
    second.add(15 * MIB)
    const whole = enter('third')
    whole.add(7 * MIB)
    whole.complete()
    pass(1_500)
    expect(cut).toEqual([])
    const other = enter('other')
    expect(other.add(12 * MIB)).toBe(true)
    expect(cut).toEqual(['first'])
    pass(1_000)
    // Its own pieces keep it fast enough, and a complete body is not slow.
    second.add(32 * 1024)
    expect(enter('another').add(16 * MIB)).toBe(false)
    expect(cut).toEqual(['first'])
  })
})

describe('Bodies that are under way', () => {
  const { server } = useServer()
  const sockets: Socket[] = []
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
  })

  const BULK = '/api/v3/location-history/bulk'

  /** Sends a head that announces a body, from one of the addresses of this machine. */
  async function announce(path: string, bytes: number, options: { key?: string; address?: string } = {}) {
    const { key, address = '127.0.0.1' } = options
    const { port } = new URL(server.url)
    const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: address })
    sockets.push(socket)
    let answer = ''
    socket
      .on('error', () => {})
      .on('data', text => {
        answer += text
      })
    await once(socket, 'connect')
    const authorization = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n${authorization}\r\n`,
    )
    return { socket, answer: () => answer }
  }

  /** Independent organizations, each with a device. */
  async function addSenders(count: number): Promise<Client[]> {
    const senders: Client[] = []
    let founder = await signIn(server)
    while (senders.length < count) {
      founder = (await addOrganization(server, founder)).client
      senders.push(createClient(server, (await createDevice(founder)).key))
    }
    return senders
  }
  const points = (bytes = 0) => ({
    points: [{ lat: 1, lng: 2, timestamp: Date.now() - 1000, attributes: { note: 'x'.repeat(bytes) } }],
  })

  it('leave room for a sign-in and an upload of others, however much heads promise whose bodies never come', async () => {
    const senders = await addSenders(17)
    const victim = senders.pop() as Client
    // As much as there could be, in pieces that fill the last of the room as well.
    const sizes = [...Array(8).fill(4 * MIB), ...[2048, 1024, 512, 256, 128, 64, 32].map(kib => kib * 1024)]
    for (const { token } of senders) for (const size of sizes) await announce(BULK, size, { key: token })
    for (let address = 2; address < 60; address++)
      for (let at = 0; at < 4; at++)
        await announce('/api/v3/auth/login', 16 * 1024, { address: `127.0.0.${address}` })
    // Heads that are not read yet would announce nothing: the test could only pass for a wrong reason.
    await pause(1_000)
    expect((await createClient(server, '').post('/auth/login', OWNER)).status).toBe(200)
    expect((await victim.post('/location-history/bulk', points(100_000))).status).toBe(200)
  })

  it('have a bound on the bytes that have come, an organization half of it, and the others the rest', async () => {
    const [flooding, other] = (await addSenders(2)) as [Client, Client]
    const sent: { answer: () => string }[] = []
    for (let at = 0; at < 40; at++) {
      const one = await announce(BULK, MIB, { key: flooding.token })
      one.socket.write(Buffer.alloc(MIB - 1, ' '))
      sent.push(one)
    }
    const refused = () => sent.filter(({ answer }) => answer().startsWith('HTTP/1.1 503')).length
    await until('the bodies beyond its half are refused', () => refused() >= 40 - 32)
    expect((await other.post('/location-history/bulk', points(100_000))).status).toBe(200)
  })

  it('make room for others when they stop half way, long before their time is over', async () => {
    const counts = [8, 4, 2, 1, 1]
    const senders = await addSenders(counts.length + 1)
    const other = senders.pop() as Client
    const sent: { answer: () => string }[] = []
    for (const [at, { token }] of senders.entries()) {
      for (let nth = 0; nth < (counts[at] as number); nth++) {
        const { socket, answer } = await announce(BULK, 4 * MIB, { key: token })
        socket.write(Buffer.alloc(at === 4 ? 2 * MIB : 3.9 * MIB, ' '))
        sent.push({ answer })
      }
    }
    const body = JSON.stringify(points()).padEnd(3 * MIB, ' ')
    const send = () =>
      fetch(`${server.url}${BULK}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${other.token}` },
        body,
      })
    await until('there is room', async () => (await send()).status === 200)
    // Read through first, for up to 10 s.
    await until('one that stopped hears why', () =>
      sent.some(({ answer }) => answer().startsWith('HTTP/1.1 503')),
    )
  })
})
