import mqtt from 'mqtt'
import { describe, expect, it } from 'vitest'
import { createDevice, readHistory } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'

describe('The setup of an app', () => {
  const { owner } = useOrganization()
  /** Follows an app's instructions for a new device, with its key in place of the placeholder. */
  async function follow(app: string) {
    const device = await createDevice(owner, 'Müller & Söhne')
    const { body } = await owner.get(`/device/${device.id}/setup`)
    expect(JSON.stringify(body)).not.toContain(device.key)
    const found = body.data.find((one: { app: string }) => one.app === app)
    const steps: { label: string; value: string }[] = found.steps
    const values = new Map(
      steps.map(({ label, value }) => [label, value.replaceAll('DEVICE_KEY', device.key)]),
    )
    const value = (label: string) => values.get(label) as string
    return { device, value, url: found.url?.replaceAll('DEVICE_KEY', device.key) as string | undefined }
  }
  const basic = (name: string, password: string) => ({
    authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
  })
  const count = async (id: string) => (await readHistory(owner, id)).length
  const now = () => Math.floor(Date.now() / 1000)

  it('is all of these, and each has steps', async () => {
    const device = await createDevice(owner)
    const { status, body } = await owner.get(`/device/${device.id}/setup`)
    expect(status).toBe(200)
    expect(body.data.map(({ app }: { app: string }) => app)).toEqual([
      ...['OwnTracks (HTTP)', 'OwnTracks (MQTT)', 'Overland', 'Traccar Client', 'GPSLogger', 'OsmAnd'],
      ...['Home Assistant', 'MQTT'],
      ...['The Things Stack', 'ChirpStack', 'Meshtastic', 'Teltonika', 'Traccar', 'flespi', 'Sigfox'],
      ...['Home Assistant (device tracker)', 'Blues Notehub'],
    ])
    expect(body.data.every(({ steps }: { steps: unknown[] }) => steps.length > 0)).toBe(true)
  })

  it('works: OwnTracks (HTTP), also by its link', async () => {
    const { device, value, url } = await follow('OwnTracks (HTTP)')
    const body = JSON.stringify({ _type: 'location', lat: 1, lon: 2, tst: now() })
    const headers = basic(value('Username'), value('Password'))
    const linked = JSON.parse(Buffer.from(url?.split('inline=')[1] ?? '', 'base64').toString())
    expect(linked).toMatchObject({ _type: 'configuration', url: value('URL'), username: device.id })
    expect(await (await fetch(value('URL'), { method: 'POST', headers, body })).text()).toBe('[]')
    expect(await count(device.id)).toBe(1)
  })

  it.each(['OwnTracks (MQTT)', 'MQTT'])('works: %s', async app => {
    const { device, value } = await follow(app)
    const native = app === 'MQTT'
    const client = await mqtt.connectAsync(`mqtt://${value('Host')}:${value('Port')}`, {
      username: value(native ? 'User name' : 'Username'),
      password: value('Password'),
      reconnectPeriod: 0,
    })
    const payload = native
      ? value('Payload').replace(/"[^"]*Z"/, String(now()))
      : JSON.stringify({ _type: 'location', lat: 1, lon: 2, tst: now() })
    await client.publishAsync(native ? value('Topic') : `owntracks/${device.id}/phone`, payload, { qos: 1 })
    await client.endAsync()
    expect(await count(device.id)).toBe(1)
  })

  it('works: Overland, also by its link', async () => {
    const { device, value, url } = await follow('Overland')
    const linked = new URL(url as string).searchParams
    expect([linked.get('url'), linked.get('token')]).toEqual([value('Receiver endpoint'), device.key])
    expect(linked.get('device_id')).toBe('Müller & Söhne')
    const geometry = { type: 'Point', coordinates: [13, 52] }
    const properties = { timestamp: new Date().toISOString(), device_id: value('Device ID') }
    const answer = await fetch(value('Receiver endpoint'), {
      method: 'POST',
      headers: { authorization: `Bearer ${value('Access token')}` },
      body: JSON.stringify({ locations: [{ type: 'Feature', geometry, properties }] }),
    })
    expect(await answer.json()).toEqual({ result: 'ok' })
    expect(await count(device.id)).toBe(1)
  })

  it('works: Traccar Client', async () => {
    const { device, value } = await follow('Traccar Client')
    const location = { timestamp: new Date().toISOString(), coords: { latitude: 1, longitude: 2 } }
    const answer = await fetch(value('Server URL'), {
      method: 'POST',
      body: JSON.stringify({ location, device_id: value('Device identifier') }),
    })
    expect(answer.status).toBe(200)
    expect(await count(device.id)).toBe(1)
  })

  it('works: GPSLogger and OsmAnd, whose placeholders become a point', async () => {
    const gps = await follow('GPSLogger')
    const filled = {
      ...{ '%LAT': '52.5', '%LON': '13.4', '%TIME': new Date().toISOString(), '%SPD': '12.5', '%DIR': '90' },
      ...{ '%ALT': '34', '%ACC': '5', '%BATT': '67', '%SAT': '12', '%PROV': 'gps' },
    }
    const fill = (text: string, values: { [placeholder: string]: string }) =>
      Object.entries(values).reduce((url, [placeholder, value]) => url.replace(placeholder, value), text)
    const headers = basic(
      gps.value('Basic authentication: username'),
      gps.value('Basic authentication: password'),
    )
    const method = gps.value('HTTP method')
    expect((await fetch(fill(gps.value('URL'), filled), { method, headers })).status).toBe(200)
    expect(await readHistory(owner, gps.device.id)).toMatchObject([
      { lat: 52.5, lng: 13.4, speed: 12.5, heading: 90, altitude: 34, accuracy: 5, battery: 67 },
    ])
    const osmand = await follow('OsmAnd')
    const numbers = ['52.5', '13.4', String(Date.now()), '0.9', '34', '12.5', '90']
    const address = fill(
      osmand.value('Online tracking web address'),
      Object.fromEntries(numbers.map((number, n) => [`{${n}}`, number])),
    )
    expect((await fetch(address)).status).toBe(200)
    expect(await readHistory(owner, osmand.device.id)).toMatchObject([
      { lat: 52.5, lng: 13.4, speed: 12.5, heading: 90, altitude: 34, attributes: { hdop: '0.9' } },
    ])
  })

  it('works: Home Assistant', async () => {
    const { device, value } = await follow('Home Assistant')
    const filled = { lat: '52.5', lon: '13.4', timestamp: String(now()), accuracy: '5' }
    const payload = Object.entries(filled).reduce(
      (text, [name, filling]) => text.replace(`{{ ${name} }}`, filling),
      value('rest_command: payload'),
    )
    const answer = await fetch(value('rest_command: url'), {
      method: value('rest_command: method'),
      headers: {
        authorization: value('rest_command: headers').replace('authorization: ', ''),
        'content-type': value('rest_command: content_type'),
      },
      body: payload,
    })
    expect(answer.status).toBe(200)
    expect(await readHistory(owner, device.id)).toMatchObject([{ lat: 52.5, lng: 13.4, accuracy: 5 }])
  })
})
