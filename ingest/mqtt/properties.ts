import { isUtf8 } from 'node:buffer'
import { MAX_PROPERTIES_BYTES } from './limits.ts'
import { malformed, type Properties, ProtocolError } from './protocol.ts'

// Properties of the packets of MQTT 5 that a client sends. They are read here and not by mqtt-packet: it neither checks which
// packet a property belongs to, nor whether it ends within it, and makes an object of all user properties. Nobody reads
// those here, so they are checked and skipped.

/** A packet, or the will of a CONNECT. */
type PropertyOwner = 'will' | (string & {})

interface Property {
  name: keyof Properties
  type: 'flag' | 'number' | 'text' | 'bytes' | 'varying'
  /** The bytes of a number. */
  bytes?: 2 | 4
  owners: readonly PropertyOwner[]
  mayBeZero?: false
}

const MESSAGE = ['publish', 'will']
const USER_PROPERTY = 0x26

/** [MQTT 5, 2.2.2.2], without the properties that only a server sends. */
const PROPERTIES: Readonly<Record<number, Property>> = {
  1: { name: 'payloadFormatIndicator', type: 'flag', owners: MESSAGE },
  2: { name: 'messageExpiryInterval', type: 'number', bytes: 4, owners: MESSAGE },
  3: { name: 'contentType', type: 'text', owners: MESSAGE },
  8: { name: 'responseTopic', type: 'text', owners: MESSAGE },
  9: { name: 'correlationData', type: 'bytes', owners: MESSAGE },
  11: { name: 'subscriptionIdentifier', type: 'varying', owners: ['subscribe'], mayBeZero: false },
  17: { name: 'sessionExpiryInterval', type: 'number', bytes: 4, owners: ['connect', 'disconnect'] },
  21: { name: 'authenticationMethod', type: 'text', owners: ['connect', 'auth'] },
  22: { name: 'authenticationData', type: 'bytes', owners: ['connect', 'auth'] },
  23: { name: 'requestProblemInformation', type: 'flag', owners: ['connect'] },
  24: { name: 'willDelayInterval', type: 'number', bytes: 4, owners: ['will'] },
  25: { name: 'requestResponseInformation', type: 'flag', owners: ['connect'] },
  31: {
    name: 'reasonString',
    type: 'text',
    owners: ['puback', 'pubrec', 'pubrel', 'pubcomp', 'disconnect', 'auth'],
  },
  33: { name: 'receiveMaximum', type: 'number', bytes: 2, owners: ['connect'], mayBeZero: false },
  34: { name: 'topicAliasMaximum', type: 'number', bytes: 2, owners: ['connect'] },
  35: { name: 'topicAlias', type: 'number', bytes: 2, owners: ['publish'] },
  39: { name: 'maximumPacketSize', type: 'number', bytes: 4, owners: ['connect'], mayBeZero: false },
}

const tooShort = () => malformed('MQTT 5, section 2.2.2.1: properties that are cut short')

/** The length of properties, or of an identifier of a subscription, and where it ends. [MQTT 5, 1.5.5] */
export function readVarying(bytes: Buffer, at: number): { value: number; end: number } {
  let value = 0
  for (let index = 0; index < 4; index++) {
    const byte = bytes[at + index]
    if (byte === undefined) throw tooShort()
    value += (byte & 127) << (index * 7)
    if (byte < 128) return { value, end: at + index + 1 }
  }
  throw malformed('MQTT 5, [MQTT-1.5.5-1] a length of more than four bytes')
}

/** Fails if the properties of a packet have more than this server reads. */
export function checkPropertiesLength(length: number): void {
  if (length > MAX_PROPERTIES_BYTES) throw new ProtocolError('limit', 'the properties are too large')
}

/** Reads all properties of a packet. Throws the rule that they break. */
export function readProperties(bytes: Buffer, owner: PropertyOwner): Properties {
  const properties: Properties = {}
  for (let at = 0; at < bytes.length; ) {
    const identifier = bytes[at++] as number
    if (identifier === USER_PROPERTY) {
      at = checkText(bytes, checkText(bytes, at))
      continue
    }
    const property = PROPERTIES[identifier]
    if (!property?.owners.includes(owner))
      throw malformed(`MQTT 5, section 2.2.2.2: the property ${identifier} in this packet`)
    if (properties[property.name] !== undefined)
      throw new ProtocolError('protocol', `MQTT 5, section 2.2.2.2: ${property.name} twice`)
    const { value, end } = readValue(property, bytes, at)
    if (value === 0 && property.mayBeZero === false)
      throw new ProtocolError('protocol', `MQTT 5, section 2.2.2.2: ${property.name} is 0`)
    Object.assign(properties, { [property.name]: value })
    at = end
  }
  return properties
}

function readValue(
  { name, type, bytes: size = 2 }: Property,
  bytes: Buffer,
  at: number,
): { value: number | string | Buffer; end: number } {
  switch (type) {
    case 'flag': {
      const value = bytes[at]
      if (value === undefined) throw tooShort()
      if (value > 1)
        throw new ProtocolError('protocol', `MQTT 5, section 2.2.2.2: ${name} is neither 0 nor 1`)
      return { value, end: at + 1 }
    }
    case 'number':
      if (at + size > bytes.length) throw tooShort()
      return { value: bytes.readUIntBE(at, size), end: at + size }
    case 'varying':
      return readVarying(bytes, at)
    case 'bytes': {
      const end = endOfField(bytes, at)
      return { value: Buffer.from(bytes.subarray(at + 2, end)), end }
    }
    case 'text': {
      const end = checkText(bytes, at)
      return { value: bytes.toString('utf8', at + 2, end), end }
    }
  }
}

/** The end of a field that begins with its length. */
function endOfField(bytes: Buffer, at: number): number {
  if (at + 2 > bytes.length) throw tooShort()
  const end = at + 2 + bytes.readUInt16BE(at)
  if (end > bytes.length) throw tooShort()
  return end
}

/** Checks a string and returns its end. [MQTT 5, 1.5.4] */
function checkText(bytes: Buffer, at: number): number {
  const end = endOfField(bytes, at)
  const text = bytes.subarray(at + 2, end)
  if (!isUtf8(text) || text.includes(0)) throw malformed('MQTT 5, [MQTT-1.5.4-1] a string that is not UTF-8')
  return end
}
