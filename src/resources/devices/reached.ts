import type { Services } from '../../services.ts'

/** Where the caller reached us, and so may whoever sets up a device. */
export interface Reached {
  /** Scheme, host and port. */
  origin: string
  hostname: string
  mqtt: { port: number; tls: boolean }
}

/** The settings to enter in an app or on the page of a platform. */
export interface Setup {
  app: string
  /** The values to enter, by the labels of the app. */
  steps: { label: string; value: string }[]
  /** A link to open on the phone instead. */
  url?: string
}

export const steps = (values: { [label: string]: string }) =>
  Object.entries(values).map(([label, value]) => ({ label, value }))

export function readReached(
  { protocol, host, hostname }: { protocol: string; host: string; hostname: string },
  { config: { mqttTls, mqttPort }, mqtt }: Pick<Services, 'config' | 'mqtt'>,
): Reached {
  return {
    origin: `${protocol}://${host}`,
    hostname,
    // Port 0 of the configuration is any; a process without MQTT knows that of the others by the configuration alone.
    mqtt: { port: mqttTls?.port || (mqtt?.port ?? mqttPort), tls: mqttTls !== undefined },
  }
}
