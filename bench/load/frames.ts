/**
 * MQTT packets of the load generator, encoded once. The PUBLISH packets of a connection lie one behind the other in one
 * buffer, as many as may be in flight. Before one is sent again, only its changing digits are overwritten.
 */
const TIME_DIGITS = 13
const LATITUDE_DIGITS = 4

/** The payload of about 120 bytes, whose latitude and timestamp are overwritten. */
const PAYLOAD =
  '{"lat":52.5200000,"lng":13.4049540,"timestamp":0000000000000,"speed":12.25,"heading":270.5,"accuracy":5.5,"battery":87}'
export const PAYLOAD_BYTES = PAYLOAD.length
const LATITUDE_AT = PAYLOAD.indexOf('52.5200000') + '52.52'.length
const TIME_AT = PAYLOAD.indexOf('0000000000000')

/** CONNECT of MQTT 3.1.1 with a clean session and a keepalive of 60 s. */
export function connectFrame(clientId: string, username: string, password: string): Buffer {
  const flags = 0b1100_0010
  const head = Buffer.from([0, 4, ...Buffer.from('MQTT'), 4, flags, 0, 60])
  const body = Buffer.concat([head, text(clientId), text(username), text(password)])
  return Buffer.concat([Buffer.from([0x10]), remainingLength(body.length), body])
}

/** The PUBLISH packets of one connection, QoS 1, with the packet identifiers 1 to `slots`. */
export interface PublishRing {
  bytes: Buffer
  frameBytes: number
  /** Writes the next point of the device into the packet of `slot`. */
  patch(slot: number, recordedAtMs: number): void
}

export function publishRing(topic: string, slots: number): PublishRing {
  const name = text(topic)
  const head = Buffer.concat([Buffer.from([0x32]), remainingLength(name.length + 2 + PAYLOAD.length), name])
  const frameBytes = head.length + 2 + PAYLOAD.length
  const bytes = Buffer.allocUnsafeSlow(frameBytes * slots)
  for (let slot = 0; slot < slots; slot++) {
    const at = slot * frameBytes
    head.copy(bytes, at)
    bytes.writeUInt16BE(slot + 1, at + head.length)
    bytes.write(PAYLOAD, at + head.length + 2, 'latin1')
  }
  const payloadAt = head.length + 2
  return {
    bytes,
    frameBytes,
    patch(slot, recordedAtMs) {
      patchPoint(bytes, slot * frameBytes + payloadAt, recordedAtMs)
    },
  }
}

/** Points of one device as the body of a bulk request; all points have the same length and are patched in place. */
export function bulkBody(points: number): {
  bytes: Buffer
  patch(index: number, recordedAtMs: number): void
} {
  const head = '{"points":['
  const bytes = Buffer.from(`${head}${Array.from({ length: points }, () => PAYLOAD).join(',')}]}`, 'latin1')
  return {
    bytes,
    patch: (index, recordedAtMs) =>
      patchPoint(bytes, head.length + index * (PAYLOAD.length + 1), recordedAtMs),
  }
}

function patchPoint(bytes: Buffer, at: number, recordedAtMs: number): void {
  const low = recordedAtMs % 1e7
  writeDigits(bytes, at + TIME_AT, TIME_DIGITS - 7, (recordedAtMs - low) / 1e7)
  writeDigits(bytes, at + TIME_AT + TIME_DIGITS - 7, 7, low)
  writeDigits(bytes, at + LATITUDE_AT, LATITUDE_DIGITS, (low / 1000) | 0)
}

function writeDigits(bytes: Buffer, at: number, digits: number, value: number): void {
  let rest = value | 0
  for (let index = at + digits - 1; index >= at; index--) {
    const next = (rest / 10) | 0
    bytes[index] = 48 + rest - next * 10
    rest = next
  }
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** MQTT 3.1.1, section 2.2.3: seven bits in each byte, least significant first. */
function remainingLength(length: number): Buffer {
  const bytes: number[] = []
  let rest = length
  do {
    bytes.push((rest % 128) | (rest >= 128 ? 0x80 : 0))
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return Buffer.from(bytes)
}
