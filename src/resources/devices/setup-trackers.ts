import type { BUILT_IN } from '../../../ingest/profiles/built-in/table.ts'
import { type Reached, type Setup, steps } from './reached.ts'

/** Stand for a connection's identifier and key: a platform sends for all its devices by one (docs/trackers.md). */
const CONNECTION = 'CONNECTION_ID'
export const CONNECTION_KEY = 'CONNECTION_KEY'
/** A placeholder for the device's key, of which only a digest is stored. It needs no escaping anywhere. */
export const KEY = 'DEVICE_KEY'

/**
 * The settings for each built-in profile: for a tracker that signs in as this device, or for a platform that sends for
 * many devices and finds each by its references.
 */
export function describeTrackers(
  { deviceId = 'DEVICE_ID', connectionId = CONNECTION }: { deviceId?: string; connectionId?: string },
  { origin, hostname, mqtt }: Reached,
): Record<keyof typeof BUILT_IN, Setup> {
  const webhook = `${origin}/api/v3/ingest/connection/${connectionId}`
  const bearer = `Bearer ${CONNECTION_KEY}`
  const scheme = mqtt.tls ? 'mqtts' : 'mqtt'
  const server = `${hostname}:${mqtt.port}`
  return {
    ttn: {
      app: 'The Things Stack',
      steps: steps({
        'Fieldline: reference': 'the end device ID',
        'Webhook: format': 'JSON',
        'Webhook: base URL': webhook,
        'Webhook: additional header Authorization': bearer,
        'Webhook: enabled event types': 'Uplink message, Location solved',
      }),
    },
    chirpstack: {
      app: 'ChirpStack',
      steps: steps({
        'Fieldline: reference': 'the DevEUI',
        'HTTP integration: payload encoding': 'JSON',
        'HTTP integration: event endpoint URL': webhook,
        'HTTP integration: header Authorization': bearer,
      }),
    },
    meshtastic: {
      app: 'Meshtastic',
      // A node keeps 31 characters of a password, fewer than a key has, and a gateway hears many nodes.
      steps: steps({
        'Fieldline: reference': 'the node, such as !a1b2c3d4',
        'Gateway: MQTT server address': 'a Mosquitto of your own',
        'Gateway: encryption': 'off',
        'Gateway: JSON output': 'on',
        'mosquitto.conf: connection': 'fieldline',
        'mosquitto.conf: address': server,
        'mosquitto.conf: remote_username': connectionId,
        'mosquitto.conf: remote_password': CONNECTION_KEY,
        'mosquitto.conf: topic': 'msh/+/2/json/# out 1',
        'mosquitto.conf: try_private': 'false',
        'mosquitto.conf: notifications': 'false',
        'mosquitto.conf: cleansession': 'false',
      }),
    },
    teltonika: {
      app: 'Teltonika',
      steps: steps({
        'Fieldline: profile': 'teltonika',
        'System: data protocol': 'Codec JSON',
        'GPRS: domain': hostname,
        'GPRS: port': String(mqtt.port),
        'GPRS: protocol': 'MQTT',
        'GPRS: TLS encryption': mqtt.tls ? 'TLS/DTLS' : 'None',
        'MQTT: client type': 'Custom',
        'MQTT: user name': deviceId,
        'MQTT: password': KEY,
        'MQTT: data topic': 'fleet/teltonika/IMEI/data',
        'MQTT: quality of service': '1',
      }),
    },
    traccar: {
      app: 'Traccar',
      steps: steps({
        'Fieldline: reference': 'the identifier in Traccar',
        'traccar.xml: forward.type': 'json',
        'traccar.xml: forward.url': webhook,
        'traccar.xml: forward.header': `Authorization: ${bearer}`,
        'traccar.xml: forward.retry.enable': 'true',
      }),
    },
    flespi: {
      app: 'flespi',
      steps: steps({
        'Fieldline: reference': 'the ident',
        'Stream: protocol': 'HTTP',
        'Stream: URI': webhook,
        'Stream: headers': `Authorization: ${bearer}`,
      }),
    },
    sigfox: {
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
    'home-assistant': {
      app: 'Home Assistant (device tracker)',
      steps: steps({
        'Fieldline: profile': 'home-assistant',
        'MQTT: broker': `${scheme}://${server}`,
        'MQTT: user name': deviceId,
        'MQTT: password': KEY,
        'MQTT: topic of the attributes': 'homeassistant/device_tracker/van_3/attributes',
      }),
    },
    notehub: {
      app: 'Blues Notehub',
      steps: steps({
        'Fieldline: reference': 'the device UID, dev:…',
        'Route: type': 'General HTTP/HTTPS Request/Response',
        'Route: URL': webhook,
        'Route: HTTP header Authorization': bearer,
        'Route: transform': 'no transformation',
      }),
    },
  }
}
