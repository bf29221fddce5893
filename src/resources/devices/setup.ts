/** Where the caller reached us, and so may whoever sets up a device. */
export interface Reached {
  /** Scheme, host and port. */
  origin: string
  hostname: string
  mqtt: { port: number; tls: boolean }
}

interface Setup {
  app: string
  /** The values to enter, by the labels of the app. */
  steps: { label: string; value: string }[]
  /** A link to open on the phone instead. */
  url?: string
}

/** A placeholder for the device's key, of which only a digest is stored. It needs no escaping anywhere. */
const KEY = 'DEVICE_KEY'

/** The settings to enter in each app that a device may use. docs/apps.md describes them in words. */
export function describeSetup({ _id, name }: { _id: string; name: string }, reached: Reached): Setup[] {
  const { origin, hostname, mqtt } = reached
  const owntracks = `${origin}/api/v3/ingest/owntracks`
  const overland = `${origin}/api/v3/ingest/overland`
  const osmand = `${origin}/api/v3/ingest/osmand`
  const steps = (values: { [label: string]: string }) =>
    Object.entries(values).map(([label, value]) => ({ label, value }))
  const broker = { Host: hostname, Port: String(mqtt.port), TLS: mqtt.tls ? 'on' : 'off' }
  // Without the password: what is not in it, the app asks for or keeps.
  const configuration = { _type: 'configuration', mode: 3, url: owntracks, auth: true, username: _id }
  return [
    {
      app: 'OwnTracks (HTTP)',
      steps: steps({ Mode: 'HTTP', URL: owntracks, Username: _id, Password: KEY, 'Encryption key': '' }),
      url: `owntracks:///config?inline=${Buffer.from(JSON.stringify(configuration)).toString('base64')}`,
    },
    {
      app: 'OwnTracks (MQTT)',
      steps: steps({ Mode: 'MQTT', ...broker, Username: _id, Password: KEY, 'Encryption key': '' }),
    },
    {
      app: 'Overland',
      steps: steps({ 'Receiver endpoint': overland, 'Access token': KEY, 'Device ID': name }),
      url: `overland://setup?url=${encodeURIComponent(overland)}&token=${KEY}&device_id=${encodeURIComponent(name.toWellFormed())}`,
    },
    {
      app: 'Traccar Client',
      steps: steps({ 'Server URL': `${osmand}?token=${KEY}`, 'Device identifier': _id }),
    },
    {
      app: 'GPSLogger',
      steps: steps({
        URL: `${osmand}?lat=%LAT&lon=%LON&time=%TIME&s=%SPD&dir=%DIR&alt=%ALT&acc=%ACC&batt=%BATT&sat=%SAT&prov=%PROV`,
        'HTTP method': 'GET',
        'Basic authentication: username': _id,
        'Basic authentication: password': KEY,
      }),
    },
    {
      app: 'OsmAnd',
      // Its {5} is in metres per second.
      steps: steps({
        'Online tracking web address': `${osmand}?token=${KEY}&lat={0}&lon={1}&timestamp={2}&hdop={3}&altitude={4}&s={5}&bearing={6}`,
      }),
    },
    {
      app: 'Home Assistant',
      steps: steps({
        'rest_command: url': osmand,
        'rest_command: method': 'post',
        'rest_command: headers': `authorization: Bearer ${KEY}`,
        'rest_command: content_type': 'application/x-www-form-urlencoded',
        'rest_command: payload': 'lat={{ lat }}&lon={{ lon }}&timestamp={{ timestamp }}&acc={{ accuracy }}',
      }),
    },
    {
      app: 'MQTT',
      steps: steps({
        ...broker,
        'User name': _id,
        Password: KEY,
        Topic: `devices/${_id}/location`,
        Payload: '{"lat": 52.52, "lng": 13.405, "timestamp": "2026-11-21T10:00:00Z"}',
      }),
    },
  ]
}
