import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import type { ChangeEvent } from '../../db/client.ts'
import { createTrackers } from '../../src/resources/tracking-links/sockets.ts'
import { until } from '../support/wait.ts'

it.each([
  ['is answered', false],
  ['fails', true],
])(
  'Tracking links are checked in one query at a time, however many events concern them, and again when one %s',
  async (_end, fails) => {
    let queries = 0
    let answer = () => {}
    const held = new Promise<void>(resolve => {
      answer = resolve
    })
    // The first answer waits: meanwhile more events come.
    const db = {
      async query() {
        queries++
        if (queries > 1) return []
        await held
        if (fails) throw new Error('The connection is lost')
        return []
      },
    }
    let tell = (_event: ChangeEvent) => {}
    let close = async () => {}
    const app = {
      log: { warn() {}, info() {} },
      addHook: (_name: string, hook: () => Promise<void>) => (close = hook),
    }
    const onChange = (listener: typeof tell) => {
      tell = listener
      return () => {}
    }
    const clients = { subscribe() {}, unsubscribe() {} }
    const trackers = createTrackers(app as never, db as never, onChange as never, { clients } as never)
    const closed: number[] = []
    for (let n = 0; n < 100; n++) {
      const socket = Object.assign(new EventEmitter(), {
        close: (code: number) => closed.push(code),
        bufferedAmount: 0,
      })
      const link = { id: `${n}`, organizationId: 'organization', expiresAt: new Date(Date.now() + 3_600_000) }
      trackers.add(socket as never, link as never)
    }
    for (let n = 0; n < 100; n++) tell({ kind: 'visibility', organizationId: 'organization' } as ChangeEvent)
    expect(queries).toBe(1)
    answer()
    // The query finds no open link.
    await until('every socket is closed', () => closed.length === 100)
    expect(queries).toBe(2)
    await close()
  },
)
