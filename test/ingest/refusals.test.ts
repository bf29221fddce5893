import mqtt from 'mqtt'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDevice, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { until } from '../support/wait.ts'

describe('A device that cannot sign in', () => {
  const { server } = useServer()
  let device: { id: string; key: string }
  let begun: number
  beforeAll(async () => {
    device = await createDevice(await signIn(server))
    begun = performance.now()
  })

  const refuse = async (options: { username?: string; password?: string }) => {
    const given = { protocolVersion: 4 as const, reconnectPeriod: 0, connectTimeout: 60_000, ...options }
    await expect(mqtt.connectAsync(`mqtt://127.0.0.1:${server.mqttPort}`, given, false)).rejects.toThrow()
  }
  const lines = () =>
    server.output.stderr
      .split('\n')
      .filter(line => line.includes('cannot sign in'))
      .map(line => JSON.parse(line) as { deviceId?: string; reason: string })
  const untilLines = (count: number) => until(`${count} lines`, () => lines().length >= count)

  it('has a line with its identifier and the reason, at most one a minute', async () => {
    const wrongKey = 'a key that is wrong'
    for (let n = 0; n < 3; n++) await refuse({ username: device.id, password: wrongKey })
    await untilLines(1)
    await refuse({ username: crypto.randomUUID(), password: wrongKey })
    await untilLines(2)
    await refuse({ username: device.key, password: device.key })
    await untilLines(3)
    await refuse({ username: 'token', password: 'of nobody' })
    await untilLines(4)
    await refuse({})
    await untilLines(5)
    expect(lines()).toMatchObject([
      { deviceId: device.id, reason: 'the key is wrong' },
      { deviceId: expect.stringMatching(/^[\da-f-]{36}$/), reason: 'no device has this identifier' },
      { reason: 'the user name has to be the identifier of a device' },
      { reason: 'the token has ended, or its user may not send positions' },
      { reason: 'it sends no password and shows no certificate' },
    ])
    expect(lines()[2]).not.toHaveProperty('deviceId')
    for (const secret of [wrongKey, device.key]) expect(server.output.stderr).not.toContain(secret)
  })

  it('fills no disk, however many there are', async () => {
    await Promise.all(
      Array.from({ length: 40 }, () => refuse({ username: crypto.randomUUID(), password: 'wrong' })),
    )
    // On a slow machine another minute may have begun since the first line.
    const minutes = 1 + Math.floor((performance.now() - begun) / 60_000)
    expect(lines().length).toBeLessThanOrEqual(20 * minutes)
  })
})
