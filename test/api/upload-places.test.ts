import type { AddressInfo } from 'node:net'
import { connect, type Socket } from 'node:net'
import fastify from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { learnRoots } from '../../fair/roots.ts'
import { addErrorHandling } from '../../src/http/plugins/errors.ts'
import { addUploads, receiveUpload } from '../../src/http/plugins/uploads.ts'
import { createUploadPlaces, type UploadPlaces } from '../../src/http/upload-places.ts'
import type { App } from '../../src/services.ts'
import { until } from '../support/wait.ts'

const GRACE_MS = 300
const PACE = { bytesPerS: 16 * 1024, graceMs: GRACE_MS }
const CAPS = { max: 4, maxPerOrganization: 3, maxPerAccount: 2 }

describe('Files that arrive at once', () => {
  const upload = { fields: z.strictObject({}), maxBytes: 1024 * 1024 }
  const app = fastify() as unknown as App
  let places: UploadPlaces
  let url: URL
  let received = 0
  const sockets: Socket[] = []

  beforeAll(async () => {
    addErrorHandling(app)
    await addUploads(app)
    app.post('/:organization/:account', { config: { upload } }, async request => {
      const { organization, account } = request.params as { organization: string; account: string }
      Object.assign(request, { caller: { organizationId: organization, accountId: account } })
      const before = received
      await receiveUpload(
        request,
        upload,
        async file => {
          received++
          for await (const _ of file) {
            // The bytes are discarded.
          }
        },
        places,
      )
      return { before }
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    url = new URL(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
  })
  afterAll(async () => {
    for (const socket of sockets) socket.destroy()
    await app.close()
  })
  beforeEach(() => {
    places = createUploadPlaces({ ...PACE, ...CAPS })
    received = 0
  })

  const HEAD = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nName\n'
  const TAIL = '\r\n--x--\r\n'

  /** Sends a file up to its end, and continues it through `more`. */
  async function begin(organization: string, account: string) {
    const socket = connect(Number(url.port), '127.0.0.1')
    sockets.push(socket)
    let answer = ''
    socket.on('data', data => {
      answer += data
    })
    const before = received
    socket.write(
      `POST /${organization}/${account} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n` +
        'Content-Type: multipart/form-data; boundary=x\r\n\r\n',
    )
    const more = (text: string) => socket.write(`${text.length.toString(16)}\r\n${text}\r\n`)
    more(HEAD)
    await until('it arrives, or is refused', () => received > before || answer !== '')
    return {
      socket,
      more,
      status: () => Number(answer.split(' ')[1] ?? 0),
      text: () => answer,
      end() {
        more(TAIL)
        socket.write('0\r\n\r\n')
      },
    }
  }
  /** No upload counts as slow, however busy the machine is. */
  const bePatient = () => {
    places = createUploadPlaces({ ...PACE, graceMs: 3_600_000, ...CAPS })
  }
  const later = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

  it('are two of an account, whatever organization it sends them to', async () => {
    bePatient()
    await begin('a', 'ada')
    await begin('b', 'ada')
    expect((await begin('c', 'ada')).status()).toBe(503)
    expect((await begin('c', 'bob')).status()).toBe(0)
  })

  it('are three of an organization, whoever sends them', async () => {
    bePatient()
    for (const account of ['ada', 'bob', 'cleo']) await begin('a', account)
    expect((await begin('a', 'dan')).status()).toBe(503)
  })

  it('are half of them of one root, however many organizations and accounts it has', () => {
    learnRoots([1, 2, 3, 4, 5].map(n => ({ organizationId: `x${n}`, root: 'x' })))
    const ends: string[] = []
    const own = createUploadPlaces({ ...PACE, max: 8, maxPerOrganization: 3, maxPerAccount: 2 })
    const take = (organizationId: string, accountId: string) =>
      own.take({ accountId, organizationId }, () => ends.push(accountId)) !== null
    expect([1, 2, 3, 4, 5].map(n => take(`x${n}`, `sock ${n}`))).toEqual([true, true, true, true, false])
    expect(['a', 'b', 'c', 'd', 'e'].map(name => take(name, name))).toEqual(Array(5).fill(true))
    // The last came when all places were taken: the root with several lost one.
    expect(ends).toHaveLength(1)
    expect(ends[0]).toMatch(/^sock/)
  })

  it('make room at once for a colleague, and for another organization, by whoever has several', () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0)
    try {
      const ends: string[] = []
      const take = (organizationId: string, accountId: string) => {
        const place = places.take({ accountId, organizationId }, () => ends.push(accountId))
        // However much it sends.
        place?.add(1024 * 1024)
        return place !== null
      }
      expect([take('a', 'ada'), take('a', 'ada'), take('a', 'bob')]).toEqual([true, true, true])
      expect([take('a', 'bob'), ends]).toEqual([false, []])
      expect([take('a', 'cleo'), ends]).toEqual([true, ['ada']])
      // Nobody has several places any more.
      expect([take('a', 'dan'), ends]).toEqual([false, ['ada']])
      expect([take('b', 'eve'), take('b', 'fay'), ends]).toEqual([true, false, ['ada']])
      expect([take('c', 'gil'), ends.length]).toEqual([true, 2])
      expect([take('d', 'hal'), ends.length]).toEqual([true, 3])
      expect([take('e', 'ida'), ends.length]).toEqual([false, 3])
    } finally {
      clock.mockRestore()
    }
  })

  it('make room for others where they send hardly anything, however long they go on with it', async () => {
    const slow: Awaited<ReturnType<typeof begin>>[] = []
    for (const account of ['ada', 'ada', 'bob', 'bob']) slow.push(await begin(`of-${account}`, account))
    // Everything sent at first counts as long as a byte now and then, and no longer.
    slow[0]?.more('x'.repeat(512 * 1024))
    for (let sent = 0; sent < 5; sent++) {
      await later(GRACE_MS / 4)
      for (const one of slow) one.more('x')
    }
    await later(GRACE_MS)
    expect(slow.map(one => one.status())).toEqual([0, 0, 0, 0])
    let next = await begin('of-cleo', 'cleo')
    await until('there is room', async () => {
      if (next.status() === 503) next = await begin('of-cleo', 'cleo')
      return next.status() !== 503
    })
    next.end()
    await until('it is taken', () => next.status() === 200)
    await until('one has made room', () => slow.filter(one => one.status() === 408).length === 1)
    const ended = slow.find(one => one.status() === 408)
    expect(ended?.text()).toContain('too slowly')
    await until(
      'it is closed',
      () => ended?.socket.destroyed === true || ended?.socket.readableEnded === true,
    )
    // The others continue, and end as they would have.
    for (const one of slow) if (one !== ended) one.end()
    for (const one of slow) if (one !== ended) await until('it is taken', () => one.status() === 200)
  })

  it('keep their places while they come as fast as they have to', () => {
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    try {
      const ends: string[] = []
      const take = (name: string) =>
        places.take({ accountId: name, organizationId: name }, () => ends.push(name))
      const held = ['a', 'b', 'c', 'd'].map(take)
      for (; now < 10 * GRACE_MS; now += GRACE_MS / 2)
        for (const place of held) place?.add(((16 * 1024 * GRACE_MS) / 2 / 1000) * (1 + now / GRACE_MS))
      expect(take('e')).toBeNull()
      // Earlier bytes count for this long, and no longer.
      held[2]?.add(1024 * 1024)
      now += GRACE_MS - 1
      for (const at of [0, 1, 3]) held[at]?.add(1024 * 1024)
      expect(take('e')).toBeNull()
      now += 2
      expect(take('e')).not.toBeNull()
      expect(ends).toEqual(['c'])
      // Each gives its own place back, and the one that lost its place has none.
      held[2]?.giveBack()
      expect(take('f')).toBeNull()
      held[0]?.giveBack()
      expect(take('f')).not.toBeNull()
      expect(ends).toEqual(['c'])
    } finally {
      clock.mockRestore()
    }
  })

  /** How long a place is held at a multiple of the minimum speed, while another sender wants it all the time. */
  function heldFor(
    times: number,
    newcomer: { accountId: string; organizationId: string },
    { reopensEveryMs = Number.POSITIVE_INFINITY } = {},
  ): number {
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    try {
      const own = createUploadPlaces({ ...PACE, max: 2, maxPerOrganization: 2, maxPerAccount: 2 })
      const take = () =>
        [1, 2].map(n => own.take({ accountId: 'ada', organizationId: `of ada ${n}` }, () => {}))
      let held = take()
      let opened = now
      while (own.take(newcomer, () => {}) === null && now < 100 * GRACE_MS) {
        now += GRACE_MS / 10
        if (now - opened >= reopensEveryMs) {
          for (const place of held) place?.giveBack()
          held = take()
          opened = now
        }
        for (const place of held) place?.add(times * 16 * 1024 * (GRACE_MS / 10 / 1000))
      }
      return now / GRACE_MS
    } finally {
      clock.mockRestore()
    }
  }

  it('make room for others the sooner the slower they are, and for more of their own account while they are fast enough', () => {
    const other = { accountId: 'eve', organizationId: 'of eve' }
    expect(heldFor(0.1, other)).toBeLessThan(1.5)
    expect(heldFor(1.1, other)).toBeLessThan(3)
    expect(heldFor(4, other)).toBeGreaterThan(4)
    expect(heldFor(4, other)).toBeLessThan(8)
    expect(heldFor(16, other)).toBeGreaterThan(16)
    const third = { accountId: 'ada', organizationId: 'of ada 3' }
    expect(heldFor(1.1, third)).toBe(100)
    expect(heldFor(0.5, third)).toBeLessThan(3)
  })

  it.each([0.2, 0.6, 1.5])('are held no longer by who closes and opens again after %f of the time', part => {
    const other = { accountId: 'eve', organizationId: 'of eve' }
    const reopensEveryMs = part * GRACE_MS
    for (const times of [0, 0.1, 1.1, 4, 16]) {
      const once = heldFor(times, other)
      expect(heldFor(times, other, { reopensEveryMs }), `${times} times`).toBeLessThanOrEqual(once + 0.2)
    }
  })

  it('are for everybody again after a time without one', () => {
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    try {
      const ada = { accountId: 'ada', organizationId: 'of ada' }
      const eve = { accountId: 'eve', organizationId: 'of eve' }
      const own = createUploadPlaces({ ...PACE, max: 1, maxPerOrganization: 1, maxPerAccount: 1 })
      const idle = own.take(ada, () => {})
      now += 5 * GRACE_MS
      idle?.giveBack()
      // It has fallen behind as far as possible, and takes a place again.
      const again = own.take(ada, () => {})
      const next = own.take(eve, () => {})
      expect([again, next]).not.toContain(null)
      next?.giveBack()
      now += 6 * GRACE_MS
      expect(own.take(ada, () => {})).not.toBeNull()
      now += GRACE_MS - 1
      expect(own.take(eve, () => {})).toBeNull()
      now += 1
      expect(own.take(eve, () => {})).not.toBeNull()
    } finally {
      clock.mockRestore()
    }
  })

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'a field named %s is none that is taken',
    async name => {
      const form = new FormData()
      form.append(name, 'x')
      form.append('file', new Blob(['Name\n']), 'a.csv')
      const answer = await fetch(new URL('/a/ada', url), { method: 'POST', body: form })
      expect([answer.status, await answer.json()]).toEqual([
        400,
        expect.objectContaining({
          errors: [{ path: name, code: 'invalid', message: expect.stringContaining('A field of the form') }],
        }),
      ])
    },
  )
})
