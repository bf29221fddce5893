import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Answer, type Client, signIn } from '../support/client.ts'
import { openTestDatabase } from '../support/database.ts'
import { hold } from '../support/hold.ts'
import { useServerProcess } from '../support/own-server.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { until } from '../support/wait.ts'

const MANY = 200
/** Whoever has waited for so long is refused, as happens to some of them where 200 requests take a slow machine longer. */
const WAIT_MS = 10_000
/** How many of them may be answered before a later user. */
const BEFORE_OTHERS = 90
/** 16 in flight, 1,200 waiting, and some beyond. */
const TOO_MANY = 1_250

describe('Requests of one user that are under way', () => {
  const { server, database } = useServerProcess()
  let owner: Client
  let colleague: Client
  let neighbour: Client
  beforeAll(async () => {
    owner = await signIn(server)
    colleague = (await addPerson(server, owner)).client
    const founder = await addPerson(server, owner, { role: 'Admin' })
    neighbour = (await addOrganization(server, founder.client)).client
  })

  /** An open connection, with its answers. */
  async function open({ token }: Client, onStatus: (status: string) => void = () => {}) {
    const waiting: (() => void)[] = []
    const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' })
    let text = ''
    let statuses: string[] = []
    socket.setEncoding('latin1').on('data', chunk => {
      text += chunk
      const found = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status as string)
      for (const status of found.slice(statuses.length)) {
        onStatus(status)
        waiting.shift()?.()
      }
      statuses = found
    })
    socket.on('error', () => {})
    await once(socket, 'connect')
    return {
      socket: socket as Socket,
      statuses: () => statuses,
      /** Resolves to the result of `look` when the answer comes. */
      get<T>(path: string, look: () => T): Promise<T> {
        socket.write(`GET /api/v3${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
        return new Promise(resolve => waiting.push(() => resolve(look())))
      },
    }
  }

  it.each([
    ['the user itself', '/user'],
    ['a list', '/tasks?search=nothing'],
  ])(
    'let others go first, of its organization and of another, and are all answered: %s',
    async (_what, path) => {
      const answered: string[] = []
      const sockets = []
      for (let n = 0; n < MANY; n++) sockets.push(await open(owner, status => void answered.push(status)))
      const others = [await open(colleague), await open(neighbour)]
      // A user who is unknown to the process is looked up first.
      for (const one of [...others, ...sockets.slice(0, 1)]) await one.get('/user', () => {})
      answered.length = 0
      const begun = performance.now()
      for (const { get } of sockets) void get(path, () => {})
      const seen: number[] = []
      await Promise.all(
        others.map(async other => {
          for (let n = 0; n < 3; n++) {
            // What has come before, and this process has not read yet, was not answered first.
            await new Promise(resolve => setImmediate(resolve))
            const before = answered.length
            seen.push(await other.get('/user', () => answered.length - before))
          }
        }),
      )
      await until('all are answered', () => answered.length === MANY)
      const allowed = performance.now() - begun < WAIT_MS ? ['200'] : ['200', '429']
      expect(answered.filter(status => !allowed.includes(status))).toEqual([])
      expect(answered).toContain('200')
      const ofOthers = others.flatMap(other => other.statuses())
      expect(ofOthers.filter(status => !allowed.includes(status))).toEqual([])
      expect(Math.max(...seen)).toBeLessThan(BEFORE_OTHERS)
      for (const { socket } of [...sockets, ...others]) socket.destroy()
    },
  )

  it('wait in a line that has an end: what is beyond is 429, and says when to come again', async context => {
    if (!database.url) return context.skip('PGlite is one session, which nobody else can hold up')
    // Only the requests beyond the limit are answered meanwhile.
    const db = await openTestDatabase(database)
    const letGo = await hold(db, 'LOCK TABLE hubs IN ACCESS EXCLUSIVE MODE')
    const beyond: Answer[] = []
    const asked = Array.from({ length: TOO_MANY }, async () => {
      const answer = await owner.get('/hubs')
      if (answer.status === 429) beyond.push(answer)
    })
    await until('some are beyond', () => beyond.length > 0)
    await letGo()
    await db.close()
    await Promise.all(asked)
    expect(beyond[0]?.headers.get('retry-after')).toBe('1')
    expect((await owner.get('/hubs')).status).toBe(200)
  })
})
