import { connect as connectTcp } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import WebSocket, { createWebSocketStream } from 'ws'
import {
  AddressNotPublic,
  createPublicLookup,
  isPublicAddress,
  literalAddress,
  type Resolve,
} from '../../../fair/public-addresses.ts'
import { MAX_PACKET_BYTES } from '../../mqtt/limits.ts'
import { FRAME_LIMITS } from '../../mqtt/websocket.ts'
import type { BrokerSettings } from './settings.ts'

const PORTS: { [protocol: string]: number } = { 'mqtt:': 1883, 'mqtts:': 8883 }

/**
 * Opens a stream to a broker; errors come as its event. Unless private addresses are allowed, none is connected to,
 * whatever the name resolves to at this moment. Throws an AddressNotPublic for a private address in the URL itself.
 */
export function openStream(
  { broker, secrets }: BrokerSettings,
  { allowPrivate, resolve }: { allowPrivate: boolean; resolve?: Resolve | undefined },
): Duplex {
  const url = new URL(broker.url)
  // Node gives the host of an address with brackets.
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  const literal = literalAddress(url)
  if (literal && !allowPrivate && !isPublicAddress(literal)) throw new AddressNotPublic()
  const lookup = allowPrivate ? {} : { lookup: createPublicLookup(resolve) }
  const tls = {
    minVersion: 'TLSv1.2' as const,
    ...(broker.caCertificate && { ca: broker.caCertificate }),
    ...(broker.clientCertificate && { cert: broker.clientCertificate }),
    ...(secrets.clientKey && { key: secrets.clientKey }),
  }
  if (url.protocol === 'ws:' || url.protocol === 'wss:') {
    const socket = new WebSocket(broker.url, ['mqtt'], {
      ...lookup,
      ...(url.protocol === 'wss:' ? tls : {}),
      ...FRAME_LIMITS,
      // A message of WebSocket is held whole, so a larger packet ends the connection.
      maxPayload: MAX_PACKET_BYTES * 2,
      followRedirects: false,
    })
    return createWebSocketStream(socket)
  }
  const address = { host: hostname, port: Number(url.port) || (PORTS[url.protocol] as number), ...lookup }
  const keepAlive = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 }
  if (url.protocol === 'mqtt:') return connectTcp({ ...address, ...keepAlive })
  const servername = literal ? {} : { servername: hostname }
  return connectTls({ ...address, ...servername, ...tls })
}
