import { type Reached, type Setup, steps } from './reached.ts'
import { describeTrackers, KEY } from './setup-trackers.ts'

/** The settings to enter in each app, and on the page of each tracker's vendor. docs/apps.md and docs/trackers.md describe them in words. */
export function describeSetup(device: { _id: string; name: string }, reached: Reached): Setup[] {
  return [
    ...describeApps(device, reached),
    ...Object.values(describeTrackers({ deviceId: device._id }, reached)),
  ]
}

function describeApps({ _id, name }: { _id: string; name: string }, reached: Reached): Setup[] {
  const { origin, hostname, mqtt } = reached
  const owntracks = `${origin}/api/v3/ingest/owntracks`
  const overland = `${origin}/api/v3/ingest/overland`
  const osmand = `${origin}/api/v3/ingest/osmand`
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
