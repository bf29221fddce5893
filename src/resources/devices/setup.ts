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

const steps = (values: { [label: string]: string }) =>
  Object.entries(values).map(([label, value]) => ({ label, value }))

/** The settings to enter in each app, and on the page of each tracker's vendor. docs/apps.md and docs/trackers.md describe them in words. */
export function describeSetup(device: { _id: string; name: string }, reached: Reached): Setup[] {
  return [...describeApps(device, reached), ...describeTrackers(device, reached)]
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

/** Stand for a connection's identifier and key: a platform sends for all its devices by one (docs/trackers.md). */
const CONNECTION = 'CONNECTION_ID'
const CONNECTION_KEY = 'CONNECTION_KEY'

/**
 * The settings for each built-in profile: for a tracker that signs in as this device, or for a platform that sends for
 * many devices and finds each by its references.
 */
function describeTrackers({ _id }: { _id: string }, { origin, hostname, mqtt }: Reached): Setup[] {
  const webhook = `${origin}/api/v3/ingest/connection/${CONNECTION}`
  const bearer = `Bearer ${CONNECTION_KEY}`
  const scheme = mqtt.tls ? 'mqtts' : 'mqtt'
  const server = `${hostname}:${mqtt.port}`
  return [
    {
      app: 'The Things Stack',
      steps: steps({
        'Fieldline: reference': 'the end device ID',
        'Webhook: format': 'JSON',
        'Webhook: base URL': webhook,
        'Webhook: additional header Authorization': bearer,
        'Webhook: enabled event types': 'Uplink message, Location solved',
      }),
    },
    {
      app: 'ChirpStack',
      steps: steps({
        'Fieldline: reference': 'the DevEUI',
        'HTTP integration: payload encoding': 'JSON',
        'HTTP integration: event endpoint URL': webhook,
        'HTTP integration: header Authorization': bearer,
      }),
    },
    {
      app: 'Meshtastic',
      // A node keeps 31 characters of a password, fewer than a key has, and a gateway hears many nodes.
      steps: steps({
        'Fieldline: reference': 'the node, such as !a1b2c3d4',
        'Gateway: MQTT server address': 'a Mosquitto of your own',
        'Gateway: encryption': 'off',
        'Gateway: JSON output': 'on',
        'mosquitto.conf: connection': 'fieldline',
        'mosquitto.conf: address': server,
        'mosquitto.conf: remote_username': CONNECTION,
        'mosquitto.conf: remote_password': CONNECTION_KEY,
        'mosquitto.conf: topic': 'msh/+/2/json/# out 1',
        'mosquitto.conf: try_private': 'false',
        'mosquitto.conf: notifications': 'false',
        'mosquitto.conf: cleansession': 'false',
      }),
    },
    {
      app: 'Teltonika',
      steps: steps({
        'Fieldline: profile': 'teltonika',
        'System: data protocol': 'Codec JSON',
        'GPRS: domain': hostname,
        'GPRS: port': String(mqtt.port),
        'GPRS: protocol': 'MQTT',
        'GPRS: TLS encryption': mqtt.tls ? 'TLS/DTLS' : 'None',
        'MQTT: client type': 'Custom',
        'MQTT: user name': _id,
        'MQTT: password': KEY,
        'MQTT: data topic': 'fleet/teltonika/IMEI/data',
        'MQTT: quality of service': '1',
      }),
    },
    {
      app: 'Traccar',
      steps: steps({
        'Fieldline: reference': 'the identifier in Traccar',
        'traccar.xml: forward.type': 'json',
        'traccar.xml: forward.url': webhook,
        'traccar.xml: forward.header': `Authorization: ${bearer}`,
        'traccar.xml: forward.retry.enable': 'true',
      }),
    },
    {
      app: 'flespi',
      steps: steps({
        'Fieldline: reference': 'the ident',
        'Stream: protocol': 'HTTP',
        'Stream: URI': webhook,
        'Stream: headers': `Authorization: ${bearer}`,
      }),
    },
    {
      app: 'Sigfox',
      steps: steps({
        'Fieldline: reference': 'the device ID',
        'Callback: type': 'DATA, ADVANCED',
        'Callback: URL pattern': webhook,
        'Callback: header Authorization': bearer,
        'Callback: content type': 'application/json',
        'Callback: body':
          '{"device": "{device}", "time": {time}, "seqNumber": {seqNumber}, "computedLocation": {computedLocation}}',
      }),
    },
    {
      app: 'Home Assistant (device tracker)',
      steps: steps({
        'Fieldline: profile': 'home-assistant',
        'MQTT: broker': `${scheme}://${server}`,
        'MQTT: user name': _id,
        'MQTT: password': KEY,
        'MQTT: topic of the attributes': 'homeassistant/device_tracker/van_3/attributes',
      }),
    },
    {
      app: 'Blues Notehub',
      steps: steps({
        'Fieldline: reference': 'the device UID, dev:…',
        'Route: type': 'General HTTP/HTTPS Request/Response',
        'Route: URL': webhook,
        'Route: HTTP header Authorization': bearer,
        'Route: transform': 'no transformation',
      }),
    },
  ]
}
