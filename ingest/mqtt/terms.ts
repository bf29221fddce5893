import { generate } from 'mqtt-packet'
import {
  MAX_ACKNOWLEDGEMENT_BYTES,
  MAX_PACKET_BYTES,
  MAX_TOPIC_ALIASES,
  RECEIVE_MAXIMUM,
  SESSION_AWAY_MS,
} from './limits.ts'
import type { Packet } from './protocol.ts'
import { REASON } from './reasons.ts'

// What the two sides of a connection of MQTT 5 tell each other, and the answers whose form depends on it.

/** What a client of version 5 asks for in its CONNECT. [MQTT 5, 3.1.2.11] */
export interface Terms {
  sessionSeconds: number
  receiveMaximum: number
  maxPacketBytes: number
  /** Whether acknowledgements may have reason strings and user properties. */
  tellsProblems: boolean
}

export const USUAL_TERMS: Terms = {
  sessionSeconds: 0,
  receiveMaximum: 65_535,
  maxPacketBytes: Number.POSITIVE_INFINITY,
  tellsProblems: true,
}

const MAX_SESSION_SECONDS = SESSION_AWAY_MS / 1000
const PUBREL = 0x62
const VERSION_5 = { protocolVersion: 5 } as const

export function readTerms({ properties = {} }: Packet): Terms {
  return {
    sessionSeconds: capSession(properties.sessionExpiryInterval ?? 0),
    receiveMaximum: properties.receiveMaximum ?? USUAL_TERMS.receiveMaximum,
    maxPacketBytes: properties.maximumPacketSize ?? USUAL_TERMS.maxPacketBytes,
    tellsProblems: properties.requestProblemInformation !== 0,
  }
}

export const capSession = (seconds: number): number => Math.min(seconds, MAX_SESSION_SECONDS)

/** The CONNACK of an accepted client; `assignedId` is the identifier of one that has sent none. */
export function acceptance(
  { resumed, keptMs }: { resumed: boolean; keptMs: number },
  assignedId: string | undefined,
): Buffer {
  return generate(
    {
      cmd: 'connack',
      sessionPresent: resumed,
      reasonCode: REASON.success,
      properties: {
        sessionExpiryInterval: keptMs / 1000,
        receiveMaximum: RECEIVE_MAXIMUM,
        maximumPacketSize: MAX_PACKET_BYTES,
        topicAliasMaximum: MAX_TOPIC_ALIASES,
        retainAvailable: false,
        wildcardSubscriptionAvailable: true,
        subscriptionIdentifiersAvailable: false,
        sharedSubscriptionAvailable: false,
        ...(assignedId !== undefined && { assignedClientIdentifier: assignedId }),
      },
    },
    VERSION_5,
  )
}

/** The answer to a PUBREC, which belongs to no message: the server sends none with QoS 2. Nothing follows one with an error. [MQTT 5, 4.3.3] */
export function releaseUnknown(messageId: number, terms: Terms | null, reasonCode = 0): Buffer {
  if (reasonCode >= REASON.unspecified) return Buffer.alloc(0)
  const reason = terms ? [REASON.packetIdentifier] : []
  return Buffer.from([PUBREL, 2 + reason.length, messageId >> 8, messageId & 255, ...reason])
}

/** The last packet of a connection: a CONNACK that refuses it, or a DISCONNECT. */
export function farewell(
  cmd: 'connack' | 'disconnect',
  reasonCode: number,
  reasonString: string,
  { maxPacketBytes }: Terms,
): Buffer {
  const packet = { cmd, reasonCode, ...(cmd === 'connack' && { sessionPresent: false }) } as {
    cmd: 'disconnect'
    reasonCode: number
  }
  const told = generate({ ...packet, properties: { reasonString } }, VERSION_5)
  return told.length > maxPacketBytes ? generate(packet, VERSION_5) : told
}

/** What was rejected of a message; `named` are the first of them. */
export interface Rejections {
  count: number
  named: readonly { reason: string; message: string; index?: number | null }[]
}

const REASON_STRING = 31
const USER_PROPERTY = 38
/** The first byte of an acknowledgement, its length and packet identifier, the reason code and the properties' length. */
const HEAD_BYTES = 1 + 2 + 2 + 1 + 2

/**
 * What a PUBACK or PUBREC says of a message that was rejected, wholly or in part: 0x99, a sentence, and as user properties
 * the count and, as far as there is room, `index` and `reason` of each. [MQTT 5, 3.4.2]
 */
export function explain({ count, named }: Rejections, { maxPacketBytes, tellsProblems }: Terms): Buffer {
  let room = Math.min(MAX_ACKNOWLEDGEMENT_BYTES, maxPacketBytes) - HEAD_BYTES
  const parts: Buffer[] = []
  const add = (...some: Buffer[]) => {
    const bytes = some.reduce((sum, { length }) => sum + length, 0)
    if (bytes > room) return false
    room -= bytes
    parts.push(...some)
    return true
  }
  if (tellsProblems) {
    add(userProperty('rejected', String(count)))
    const [first] = named
    if (first) add(Buffer.of(REASON_STRING), field(first.message))
    for (const { index, reason } of named) {
      const place = index === null || index === undefined ? [] : [userProperty('index', String(index))]
      if (!add(...place, userProperty('reason', reason))) break
    }
  }
  const properties = Buffer.concat(parts)
  // Without properties their length is left out.
  if (properties.length === 0) return Buffer.of(REASON.payloadFormat)
  const { length } = properties
  const head = length < 128 ? [length] : [(length & 127) | 128, length >> 7]
  return Buffer.concat([Buffer.from([REASON.payloadFormat, ...head]), properties])
}

function field(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 255), bytes])
}

const userProperty = (name: string, value: string) =>
  Buffer.concat([Buffer.of(USER_PROPERTY), field(name), field(value)])
