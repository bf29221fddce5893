/**
 * The load generator of bulk requests, in a process of its own: several requests are in flight over kept connections,
 * each of another device. The body is encoded once and patched in place.
 */
import { Agent, request } from 'node:http'
import { bulkBody } from './frames.ts'
import { runProcess } from './run-process.ts'
import { Window } from './window.ts'

export interface HttpLoad {
  /** The server's URL, without a path. */
  url: string
  /** The devices, which take turns. */
  devices: { id: string; key: string }[]
  /** Requests in flight, and points in each. */
  requests: number
  points: number
  firstTimeMs: number
  warmUpSeconds: number
  seconds: number
}

const STEP_MS = 1000

runProcess<HttpLoad>(async load => {
  const window = new Window()
  const agent = new Agent({ keepAlive: true, maxSockets: load.requests })
  const nextTimeMs = new Map<string, number>()
  let inFlight = 0
  let turn = 0

  async function sendAll(): Promise<void> {
    const body = bulkBody(load.points)
    while (!window.stopping) {
      const device = load.devices[turn++ % load.devices.length] as HttpLoad['devices'][number]
      const from = nextTimeMs.get(device.id) ?? load.firstTimeMs
      nextTimeMs.set(device.id, from + load.points * STEP_MS)
      for (let index = 0; index < load.points; index++) body.patch(index, from + index * STEP_MS)
      inFlight += load.points
      const begun = performance.now()
      const answer = await post(`${load.url}/api/v3/location-history/bulk`, agent, device.key, body.bytes)
      const { accepted } = (JSON.parse(answer) as { data: { accepted: number } }).data
      if (accepted !== load.points) throw new Error(`${accepted} of ${load.points} points were accepted`)
      inFlight -= load.points
      window.acknowledged(load.points, performance.now() - begun)
    }
  }

  const senders = Array.from({ length: load.requests }, sendAll)
  const [result] = await Promise.all([window.run({ ...load, inFlight: () => inFlight }), ...senders])
  agent.destroy()
  return result
})

function post(url: string, agent: Agent, key: string, body: Buffer): Promise<string> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': body.length,
  }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () =>
        response.statusCode === 200 ? resolve(text) : reject(new Error(`${response.statusCode} ${text}`)),
      )
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
