import type { Reader } from './reader.ts'

interface Ports {
  port: number
  mqttPort: number
  mqttTls: { port: number; certFile: string; keyFile: string } | undefined
  metricsPort: number | undefined
}

/** The ports on which a process listens; those of MQTT only with the role `ingest`. */
export function readPorts(read: Reader, hasMqtt: boolean): Ports {
  const ports = {
    port: read.port('PORT', 3000),
    mqttPort: read.port('MQTT_PORT', 1883),
    mqttTls: readMqttTls(read),
    metricsPort: read.env.METRICS_PORT === undefined ? undefined : read.port('METRICS_PORT', 9464),
  }
  const opened: [string, number | undefined][] = [
    ['PORT', ports.port],
    ['METRICS_PORT', ports.metricsPort],
    ...(hasMqtt
      ? ([
          ['MQTT_PORT', ports.mqttPort],
          ['MQTT_TLS_PORT', ports.mqttTls?.port],
        ] as [string, number | undefined][])
      : []),
  ]
  for (const [index, [name, port]] of opened.entries()) {
    const other = opened.slice(0, index).find(([, taken]) => taken === port)
    // 0 is any free port.
    if (port && other)
      read.problems.push(`${name} and ${other[0]} are both ${port}: give each a port of its own`)
  }
  return ports
}

function readMqttTls(read: Reader): Ports['mqttTls'] {
  const { env, problems } = read
  const certFile = read.file('MQTT_TLS_CERT')
  const keyFile = read.file('MQTT_TLS_KEY')
  if (env.MQTT_TLS_PORT === undefined) {
    if (certFile ?? keyFile) problems.push('MQTT_TLS_CERT and MQTT_TLS_KEY require MQTT_TLS_PORT')
    return undefined
  }
  if (!(certFile && keyFile)) problems.push('MQTT_TLS_PORT requires MQTT_TLS_CERT and MQTT_TLS_KEY')
  return { port: read.port('MQTT_TLS_PORT', 8883), certFile: certFile ?? '', keyFile: keyFile ?? '' }
}
