import { describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { signIn } from '../support/client.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

/** What one filter may name, and all filters of a company together. */
const IN_ONE_FILTER = 10_000
const FILTERS = 30

describe('The filters of live sockets', () => {
  const { server, owner } = useOrganization()

  async function open(client = owner) {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/v3/live`, {
      headers: { authorization: `Bearer ${client.token}` },
    })
    const heard: string[] = []
    socket.on('message', data => heard.push((JSON.parse(String(data)) as { type: string }).type))
    await new Promise((done, fail) => socket.once('open', done).once('error', fail))
    /** Resolves to whether the filter is taken. */
    const subscribe = async (count: number): Promise<boolean> => {
      const before = heard.length
      socket.send(
        JSON.stringify({ type: 'subscribe', filter: { subjectIds: Array<string>(count).fill('nobody') } }),
      )
      const isAnswer = (type: string) => type === 'snapshot' || type === 'error'
      await until('an answer', () => heard.slice(before).some(isAnswer))
      return heard.slice(before).find(isAnswer) === 'snapshot'
    }
    return { socket, subscribe }
  }

  it('name no more identifiers together than a company may have, and those that end make room', async () => {
    const sockets = await Promise.all(Array.from({ length: FILTERS + 1 }, () => open()))
    for (const { subscribe } of sockets.slice(0, FILTERS)) expect(await subscribe(IN_ONE_FILTER)).toBe(true)
    const [first, last] = [sockets[0], sockets.at(-1)] as [(typeof sockets)[0], (typeof sockets)[0]]
    expect(await last.subscribe(1)).toBe(false)
    expect(await last.subscribe(0)).toBe(true)
    // The next filter of a socket takes the place of its last one.
    expect(await first.subscribe(IN_ONE_FILTER)).toBe(true)
    expect(await first.subscribe(IN_ONE_FILTER - 1)).toBe(true)
    expect([await last.subscribe(2), await last.subscribe(1)]).toEqual([false, true])
    const colleague = (await addPerson(server, owner, { role: 'Admin' })).client
    const sister = await open((await addOrganization(server, colleague)).client)
    const stranger = await open(await signIn(server))
    expect(await sister.subscribe(IN_ONE_FILTER)).toBe(false)
    expect(await stranger.subscribe(IN_ONE_FILTER)).toBe(true)
    for (const { socket } of sockets.slice(0, FILTERS / 2)) socket.terminate()
    await until('there is room again', () => sister.subscribe(IN_ONE_FILTER))
    for (const { socket } of [...sockets, sister, stranger]) socket.terminate()
  })
})
