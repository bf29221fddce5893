import { createRequire } from 'node:module'
import { PassThrough } from 'node:stream'
import { Aedes } from 'aedes'
import { describe, expect, it } from 'vitest'

const require = createRequire(import.meta.url)

/**
 * The gate leans on parts of aedes and mqtt-packet that they do not promise. An upgrade that moves one fails here,
 * with its name, and not somewhere in the field.
 */
describe('The private parts that the gate uses', () => {
  it('are those of the versions that they were read in', () => {
    expect(require('mqtt-packet/package.json').version).toBe('9.0.2')
    expect(new Aedes()).toMatchObject({ version: '1.2.0' })
    // One parser in the tree: the one that aedes uses is the one that is taught.
    const aedes = createRequire(require.resolve('aedes'))
    expect(aedes.resolve('mqtt-packet')).toBe(require.resolve('mqtt-packet'))
  })

  it('are there on a connection and on its parser', async () => {
    const broker = await Aedes.createBroker()
    const client = broker.handle(new PassThrough()) as unknown as Record<string, unknown>
    for (const name of ['_parser', '_keepaliveTimer', '_parsingBatch', '_will', 'connected', 'closed']) {
      expect(client, name).toHaveProperty(name)
    }
    expect([client.pause, client.resume]).toEqual([expect.any(Function), expect.any(Function)])
    const parser = client._parser as Record<string, unknown> & { listenerCount(event: string): number }
    // The first listener of 'packet' is aedes' own, which the gate takes the place of.
    expect([parser.listenerCount('packet'), parser.listenerCount('error')]).toEqual([1, 1])
    const methods = [
      'parse',
      '_parseHeader',
      '_parseLength',
      '_parseConnect',
      '_parseString',
      '_parseNum',
      '_emitError',
    ]
    for (const name of methods) expect(Object.getPrototypeOf(parser)[name], name).toBeTypeOf('function')
    expect(parser).toMatchObject({
      settings: {},
      packet: { length: -1 },
      _list: { length: 0 },
      _stateCounter: 0,
    })
    await new Promise<void>(resolve => broker.close(resolve))
  })

  it('are used as they are here: half a packet is known by its length and what is there', () => {
    const parser = require('mqtt-packet').parser()
    parser.parse(Buffer.from([0x30, 20, 0, 1, 0x61]))
    expect(parser).toMatchObject({ _stateCounter: 2, packet: { length: 20 }, _list: { length: 3 } })
    const young = require('mqtt-packet').parser()
    young.parse(Buffer.from([0x30, 0x80]))
    expect(young._stateCounter).toBe(1)
  })

  it('are used as they are here: the position stands at the end of a packet when it is handed over', () => {
    const parser = require('mqtt-packet').parser()
    const seen: [number, number][] = []
    parser.on('packet', (packet: { length: number }) => seen.push([parser._pos, packet.length]))
    parser.settings = { protocolVersion: 4 }
    parser.parse(Buffer.from([0x40, 2, 0, 1, 0x82, 6, 0, 1, 0, 1, 0x61, 0, 0xc0, 0]))
    expect(seen).toEqual([
      [2, 2],
      [6, 6],
      [0, 0],
    ])
  })
})
