import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Mosquitto, startMosquitto } from '../services/mosquitto.ts'
import type { Service } from '../services/services.ts'
import { createDevice, type TestDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { CASES } from './protocol-cases.ts'
import { CASES_OF_VERSION_5 } from './protocol5-cases.ts'
import { openRaw } from './raw.ts'

/**
 * Sends every rule as bytes on a socket to our server and to Mosquitto. If their answers differ, `protocol-cases.ts`
 * gives the reason.
 */
describe('The protocol', () => {
  const { server, owner } = useOrganization()
  let mosquitto: Service<Mosquitto>
  let device: TestDevice

  beforeAll(async () => {
    mosquitto = await startMosquitto()
    device = await createDevice(owner)
  })
  afterAll(async () => {
    if (mosquitto.available) await mosquitto.stop()
  })

  const versions = [
    [4, CASES],
    [5, CASES_OF_VERSION_5],
  ] as const
  const all = versions.flatMap(([version, cases]) =>
    cases.map(one => [version, one.rule, one.name, one] as const),
  )
  it.each(all)('version %i, %s: %s', async (version, _rule, _name, one) => {
    const answersOf = async (port: number, expected: string) => {
      const client = openRaw(port, version)
      const [first, ...rest] = one.send(device)
      client.send(first as Buffer)
      if (rest.length > 0) await client.next('connack')
      client.send(...rest)
      const answers = await client.answers(expected.split(', ').length - 1)
      client.end()
      return answers.join(', ')
    }
    const ours = await answersOf(server.mqttPort, one.ours)
    const theirs =
      mosquitto.available && one.mosquitto !== null
        ? await answersOf(mosquitto.port, one.mosquitto ?? one.ours)
        : undefined
    expect(ours).toBe(one.ours)
    if (theirs !== undefined) expect(theirs, 'Mosquitto').toBe(one.mosquitto ?? one.ours)
  })

  it('lives after all of them, and a good point goes through', async () => {
    const client = openRaw(server.mqttPort)
    const { good, point } = await import('./protocol-cases.ts')
    client.send(good(device), point(device))
    expect(await client.next('puback')).toMatchObject({ messageId: 1 })
    client.end()
  })
})
