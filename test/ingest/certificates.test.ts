import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import mqtt, { type IClientOptions } from 'mqtt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../services/commands.ts'
import { type Client, createDevice, readHistory, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { openServer, type Server } from '../support/server.ts'
import { until, untilTold } from '../support/wait.ts'

const TLS = resolve(import.meta.dirname, '../data/tls')

describe.runIf(usualKind() === 'postgres')('A device with a certificate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'))
  let database: TestDatabase
  let server: Server
  let port: number
  let owner: Client

  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    port = await freePort()
    const files = { MQTT_TLS_CERT: join(TLS, 'first-cert.pem'), MQTT_TLS_KEY: join(TLS, 'first-key.pem') }
    server = await openServer(database, { MQTT_TLS_PORT: `${port}`, ...files })
    owner = await signIn(server)
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
    rmSync(folder, { recursive: true })
  })

  function createCertificate(name: string): { cert: string; key: string } {
    const [key, cert] = [join(folder, `${name}-key.pem`), join(folder, `${name}.pem`)]
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    const given = [
      'req',
      '-x509',
      ...curve,
      '-keyout',
      key,
      '-out',
      cert,
      '-subj',
      `/CN=${name}`,
      '-days',
      '30',
    ]
    execFileSync('openssl', given, { stdio: 'pipe' })
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  }
  const connect = (more: IClientOptions, url = `mqtts://127.0.0.1:${port}`) =>
    mqtt.connectAsync(
      url,
      { protocolVersion: 4, reconnectPeriod: 0, connectTimeout: 60_000, rejectUnauthorized: false, ...more },
      false,
    )

  it.each([
    ['TLS', 'mqtts', ''],
    ['a secure WebSocket', 'wss', '/mqtt'],
  ])(
    'is this device over %s without a password, as long as it has the certificate',
    async (_, protocol, path) => {
      const url = `${protocol}://127.0.0.1:${port}${path}`
      const refused = (more: IClientOptions) => expect(connect(more, url)).rejects.toThrow(/Not authorized/)
      const mine = createCertificate(`mine-${protocol}`)
      const device = await createDevice(owner)
      const set = (certificate: string | null, id = device.id) =>
        owner.patch(`/device/${id}`, { certificate })
      await refused(mine)
      const answer = await set(mine.cert)
      const days = (Date.parse(answer.body.data.certificateExpiresAt) - Date.now()) / 86_400_000
      expect(Math.round(days)).toBe(30)
      expect((await set('no certificate')).body.errors).toMatchObject([{ path: 'certificate' }])
      const other = await createDevice(owner)
      expect((await set(mine.cert, other.id)).status).toBe(409)

      const client = await connect(mine, url)
      const timestamp = Date.now() - 60_000
      const point = JSON.stringify({ lat: 52, lng: 13, timestamp })
      await client.publishAsync(`devices/${device.id}/location`, point, { qos: 1 })
      expect(await readHistory(owner, device.id)).toHaveLength(1)
      // A password goes before the certificate, and another certificate is nobody's.
      await refused({ ...mine, username: device.id, password: 'wrong' })
      await refused(createCertificate('another'))
      await refused({})
      const closed = new Promise<void>(done => client.once('close', done))
      const byKey = await connect({ username: device.id, password: device.key }, url)
      await untilTold(async () => {
        await set(null)
        await closed
      })
      expect(byKey.connected).toBe(true)
      await byKey.endAsync()
      await refused(mine)
      expect((await set(mine.cert, other.id)).status).toBe(200)
    },
  )

  it('is closed when the certificate expires, and refused before it is valid', async () => {
    const refused = (more: IClientOptions) => expect(connect(more)).rejects.toThrow(/Not authorized/)
    const mine = createCertificate('short')
    const device = await createDevice(owner)
    await owner.patch(`/device/${device.id}`, { certificate: mine.cert })
    const db = await openTestDatabase(database)
    const set = (begins: string, expires: string) =>
      db.system.query(
        `UPDATE devices SET certificate_begins_at = now() + $2::interval, certificate_expires_at = now() + $3::interval WHERE id = $1`,
        [device.id, begins, expires],
      )
    await set('1 hour', '2 hours')
    await refused(mine)
    await set('-1 hour', '15 seconds')
    const expires = performance.now() + 15_000
    const client = await connect(mine)
    const closed = new Promise<void>(done => client.once('close', done))
    await until('it has expired', () => performance.now() > expires)
    await untilTold(() => closed)
    await refused(mine)
    await db.close()
  })
})
