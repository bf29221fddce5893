/**
 * The server for the console's benchmark, in a process of its own. It passes every request on to the real server, and
 * plays the live socket itself with the requested number of subjects, which all move four times a second. So the result
 * is the page's alone: on two cores 10,000 real devices would leave it no processor time.
 */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { obeyLines } from './orders.ts'

export interface MoversOrder {
  /** The server's URL, without a path. */
  upstream: string
  subjects: number
  movesPerSecond: number
}

/** The number of steps of a round: subjects drive in circles, a few metres in each step. */
const FRAMES = 24
const STEP_DEGREES = 0.0005
/** The corner of San Francisco from which they spread: its streets are drawn below them. */
const [SOUTH, WEST] = [37.705, -122.51]
/** A page that is behind misses steps, as with a server, which sends the newest state. */
const BEHIND_BYTES = 8 * 1024 * 1024

obeyLines<MoversOrder>(async ({ upstream, subjects, movesPerSecond }) => {
  const frames = Array.from({ length: FRAMES }, (_, step) => positionsAt(step, subjects))
  const write = (type: string, step: number) =>
    `{"type":"${type}","cursor":"c${step}","positions":${frames[step % FRAMES]}}`
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const passed = request(`${upstream}${url}`, { method, headers }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  const sockets = new WebSocketServer({ server, perMessageDeflate: false, handleProtocols: () => 'bearer' })
  sockets.on('connection', socket => {
    let step = 0
    let timer: NodeJS.Timeout | undefined
    socket.on('message', data => {
      const { type } = JSON.parse(String(data)) as { type: string }
      if (type === 'watch') return socket.send('{"type":"watching","topics":[]}')
      if (timer) return
      socket.send(write('snapshot', step))
      timer = setInterval(() => {
        if (socket.bufferedAmount < BEHIND_BYTES) socket.send(write('positions', ++step))
      }, 1_000 / movesPerSecond)
    })
    socket.on('close', () => clearInterval(timer))
    socket.on('error', () => clearInterval(timer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port }
})

function positionsAt(step: number, subjects: number): string {
  const angle = (2 * Math.PI * step) / FRAMES
  const wide = Math.ceil(Math.sqrt(subjects))
  const positions = Array.from({ length: subjects }, (_, index) => ({
    subjectId: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    subjectType: 'device',
    name: `Mover ${String(index).padStart(5, '0')}`,
    lat: SOUTH + (0.11 * Math.floor(index / wide)) / wide + STEP_DEGREES * Math.sin(angle + index),
    lng: WEST + (0.13 * (index % wide)) / wide + STEP_DEGREES * Math.cos(angle + index),
    timestamp: new Date().toISOString(),
    speed: 12.5,
    heading: (index * 37) % 360,
    accuracy: 5,
    battery: 80,
    state: 'moving',
  }))
  return JSON.stringify(positions)
}
