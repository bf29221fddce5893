import type { TestDevice } from '../support/client.ts'
import {
  connectPacket,
  field,
  PINGREQ,
  packet,
  publishPacket,
  subscribePacket,
  unsubscribePacket,
} from './raw.ts'

type Bytes = Buffer | number[]

export interface Case {
  /** A rule of MQTT 3.1.1, unless it says otherwise. */
  rule: string
  name: string
  send(device: TestDevice): Bytes[]
  ours: string
  /** The answer of Mosquitto, if it differs; null if it is not asked. */
  mosquitto?: string | null
}

let clients = 0
type Connect = Parameters<typeof connectPacket>[0]
const connect = (device: TestDevice, options: Partial<Connect> = {}) =>
  connectPacket({ clientId: `c${clients++}`, username: device.id, password: device.key, ...options })

export const good = (device: TestDevice) => connect(device)
export const own = (device: TestDevice, rest: string) => `devices/${device.id}/${rest}`
let time = Date.now() - 3600_000
export const point = (device: TestDevice, options: Partial<Parameters<typeof publishPacket>[0]> = {}) =>
  publishPacket({
    topic: own(device, 'location'),
    payload: JSON.stringify({ lat: 1, lng: 1, timestamp: time++ }),
    ...options,
  })

/** A case of a CONNECT alone. */
const opening = (
  rule: string,
  name: string,
  options: Partial<Connect>,
  ours: string,
  mosquitto?: string,
): Case => ({
  rule,
  name,
  send: device => [connect(device, options)],
  ours,
  mosquitto,
})

/** A case of packets that follow a valid CONNECT. */
const then = (
  rule: string,
  name: string,
  send: (device: TestDevice) => Bytes[],
  ours: string,
  mosquitto?: string,
): Case => ({
  rule,
  name,
  send: device => [good(device), ...send(device)],
  ours: after(ours),
  mosquitto: mosquitto === undefined ? undefined : after(mosquitto),
})

function after(answer: string): string {
  if (answer === CLOSED) return 'connack 0, closed'
  return answer === '' ? OPEN : `connack 0, ${answer}, open`
}

const OPEN = 'connack 0, open'
const CLOSED = 'closed'

const NUL = Buffer.from('a\0b')
/** An overlong NUL, a surrogate, and a byte that begins no character. */
const OVERLONG = Buffer.from([0xc0, 0x80])
const SURROGATE = Buffer.from([0xed, 0xa0, 0x80])
const NO_START = Buffer.from([0x61, 0xff])

const CONNECTS: Case[] = [
  opening('3.1', 'a good CONNECT is accepted', {}, OPEN),
  opening('MQTT 3.1', 'version 3.1 is accepted', { name: 'MQIsdp', level: 3 }, OPEN),
  opening(
    'MQTT 3.1',
    'so is one with the long identifiers that OwnTracks sends',
    { name: 'MQIsdp', level: 3, clientId: 'owntracks-'.repeat(6) },
    OPEN,
  ),
  opening('[MQTT-3.1.2-1]', 'another protocol name', { name: 'MQXX' }, CLOSED),
  opening('[MQTT-3.1.2-2]', 'version 6', { level: 6 }, 'connack 1, closed'),
  opening('[MQTT-3.1.2-2]', 'the name of 3.1.1 and the version of 3.1', { level: 3 }, 'connack 1, closed'),
  opening(
    '[MQTT-3.1.2-2]',
    'the name of 3.1 and the version of 3.1.1',
    { name: 'MQIsdp' },
    'connack 1, closed',
  ),
  // Mosquitto's bridges identify themselves with bit 7; without an answer they try again without it.
  opening('[MQTT-3.1.2-2]', 'version 4 with bit 7', { level: 0x84 }, 'connack 1, closed', OPEN),
  opening('[MQTT-3.1.2-3]', 'the reserved flag', { flags: 0xc3 }, CLOSED),
  opening('[MQTT-3.1.2-13]', 'no will, and a QoS for it', { flags: 0xca }, CLOSED),
  opening('[MQTT-3.1.2-15]', 'no will, and it is to be retained', { flags: 0xe2 }, CLOSED),
  opening('[MQTT-3.1.2-14]', 'a will of QoS 3', { will: { topic: 'a', payload: 'b', qos: 3 } }, CLOSED),
  opening('[MQTT-3.1.2-22]', 'a password without a user name', { username: undefined }, CLOSED),
  // Mosquitto lets everybody in here.
  opening('3.1.3.5', 'a user name without a password', { password: undefined }, 'connack 5, closed', OPEN),
  opening('[MQTT-3.1.3-6]', 'no client identifier, and a clean session', { clientId: '' }, OPEN),
  opening(
    '[MQTT-3.1.3-8]',
    'no client identifier, and a kept session',
    { clientId: '', clean: false },
    'connack 2, closed',
  ),
  opening(
    'MQTT 3.1',
    'no client identifier',
    { name: 'MQIsdp', level: 3, clientId: '' },
    'connack 2, closed',
  ),
  opening('[MQTT-1.5.3-2]', 'NUL in the client identifier', { clientId: NUL }, CLOSED),
  opening('[MQTT-1.5.3-1]', 'an overlong NUL in the client identifier', { clientId: OVERLONG }, CLOSED),
  opening('[MQTT-1.5.3-1]', 'a surrogate in the client identifier', { clientId: SURROGATE }, CLOSED),
  opening('[MQTT-1.5.3-2]', 'NUL in the user name', { username: NUL }, CLOSED),
  opening('[MQTT-1.5.3-1]', 'a user name that is not UTF-8', { username: NO_START }, CLOSED),
  opening('[MQTT-1.5.3-2]', 'NUL in the topic of a will', { will: { topic: NUL, payload: '' } }, CLOSED),
  opening(
    '[MQTT-1.5.3-1]',
    'a topic of a will that is not UTF-8',
    { will: { topic: NO_START, payload: '' } },
    CLOSED,
  ),
  opening('[MQTT-1.5.3-3]', 'a byte order mark is a character', { clientId: '\uFEFFa' }, OPEN),
  opening('1.5.3', 'the replacement character is one as well', { clientId: 'a\uFFFD' }, OPEN),
  // The standard leaves control characters to the server; our server accepts them.
  opening('1.5.3', 'a control character in the client identifier', { clientId: 'a\u0001' }, OPEN, CLOSED),
  // Code 5 says that the topic of the will is not the device's own.
  opening(
    '7.4',
    'a will on a topic that is not its own',
    { will: { topic: 'a', payload: 'b' } },
    'connack 5, closed',
    OPEN,
  ),
  opening('7.4', 'a wrong key', { password: 'x' }, 'connack 5, closed', OPEN),
  {
    rule: '[MQTT-3.1.0-2]',
    name: 'a second CONNECT',
    send: device => [good(device), good(device)],
    ours: 'connack 0, closed',
  },
  { rule: '[MQTT-3.1.0-1]', name: 'a PUBLISH first', send: device => [point(device)], ours: CLOSED },
  { rule: '[MQTT-3.1.0-1]', name: 'a PINGREQ first', send: () => [PINGREQ], ours: CLOSED },
  { rule: '[MQTT-3.1.0-1]', name: 'HTTP', send: () => [Buffer.from('GET / HTTP/1.1\r\n\r\n')], ours: CLOSED },
  { rule: '[MQTT-2.2.2-2]', name: 'flags of a CONNECT', send: d => [flagged(good(d), 0x11)], ours: CLOSED },
  { rule: '2.2.1', name: 'the forbidden packet type 0', send: () => [packet(0x00, [])], ours: CLOSED },
  {
    rule: '[MQTT-3.1.4-1]',
    name: 'a CONNECT with more than its flags say',
    send: device => [lengthened(good(device))],
    ours: CLOSED,
  },
  { rule: '[MQTT-3.1.4-1]', name: 'a CONNECT cut short', send: d => [shortened(good(d))], ours: CLOSED },
  {
    rule: '2.2.3',
    name: 'a length of five bytes',
    send: () => [[0x10, 255, 255, 255, 255, 1]],
    ours: CLOSED,
  },
  // Mosquitto accepts 256 MB and waits for them.
  {
    rule: 'limit',
    name: 'a CONNECT of 200 MB',
    send: () => [[0x10, 255, 255, 255, 96]],
    ours: CLOSED,
    mosquitto: 'open',
  },
]

function flagged(bytes: Buffer, first: number): Buffer {
  return Buffer.concat([Buffer.from([first]), bytes.subarray(1)])
}

function lengthened(bytes: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from([bytes[0] as number, (bytes[1] as number) + 1]),
    bytes.subarray(2),
    Buffer.from([7]),
  ])
}

function shortened(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([bytes[0] as number, (bytes[1] as number) - 1]), bytes.subarray(2, -1)])
}

const PUBLISHES: Case[] = [
  then('4.3.2', 'QoS 1', device => [point(device)], 'puback 1'),
  then('4.3.3', 'QoS 2', d => [point(d, { qos: 2 }), packet(0x62, [0, 1])], 'pubrec 1, pubcomp 1'),
  then('[MQTT-4.3.3-2]', 'a PUBREL of nothing is answered', () => [packet(0x62, [0, 9])], 'pubcomp 9'),
  then(
    '[MQTT-4.6.0-2]',
    'in order',
    d => [1, 2, 3].map(id => point(d, { id })),
    'puback 1, puback 2, puback 3',
  ),
  then('[MQTT-3.3.1-1]', 'DUP', device => [point(device, { dup: true })], 'puback 1'),
  // Here a point is sent, to which nobody subscribes: the server clears the flag (contract 7.4).
  then('7.4', 'retain', device => [point(device, { retain: true })], 'puback 1'),
  then('[MQTT-3.3.1-4]', 'QoS 3', device => [flagged(point(device), 0x36)], CLOSED),
  // Mosquitto does not check this.
  then('[MQTT-3.3.1-2]', 'DUP with QoS 0', device => [point(device, { qos: 0, dup: true })], CLOSED, ''),
  then('[MQTT-2.3.1-1]', 'packet identifier 0', device => [point(device, { id: 0 })], CLOSED),
  then('[MQTT-2.3.1-1]', 'no packet identifier', d => [packet(0x32, field(own(d, 'location')))], CLOSED),
  then('[MQTT-3.3.2-2]', '+ in the topic', device => [point(device, { topic: 'owntracks/+/b' })], CLOSED),
  then('[MQTT-3.3.2-2]', '# in the topic', device => [point(device, { topic: 'owntracks/a/#' })], CLOSED),
  then('[MQTT-4.7.3-1]', 'an empty topic', device => [point(device, { topic: '' })], CLOSED),
  then('[MQTT-1.5.3-2]', 'NUL in the topic', d => [point(d, { topic: own(d, 'a\0') })], CLOSED),
  then('[MQTT-1.5.3-1]', 'a topic that is not UTF-8', d => [point(d, { topic: SURROGATE })], CLOSED),
  // Topics have no owners in Mosquitto here. It accepts a message to its own topics silently.
  then('7.4', '$SYS', device => [point(device, { topic: '$SYS/broker/uptime' })], CLOSED, 'puback 1'),
  then('7.4', 'another topic', device => [point(device, { topic: 'elsewhere' })], CLOSED, 'puback 1'),
  // [MQTT-4.7.3-3] sets no limit; Mosquitto's limit is 200 levels.
  then(
    'limit',
    'a topic of 100 levels',
    d => [point(d, { topic: own(d, 'a/'.repeat(98)) })],
    CLOSED,
    'puback 1',
  ),
  then('limit', 'a topic of 201 levels', d => [point(d, { topic: own(d, 'a/'.repeat(199)) })], CLOSED),
  // Mosquitto accepts 256 MB unless it is configured otherwise.
  then(
    'limit',
    'a packet of 257 KiB',
    d => [point(d, { payload: 'x'.repeat(257 * 1024) })],
    CLOSED,
    'puback 1',
  ),
  then('limit', 'the announcement of 200 MB', () => [[0x30, 255, 255, 255, 96]], CLOSED, ''),
  then('[MQTT-2.2.2-2]', 'flags of a PUBREL', () => [packet(0x60, [0, 1])], CLOSED),
  then('[MQTT-2.3.1-1]', 'a PUBREL of 0', () => [packet(0x62, [0, 0])], CLOSED),
  then('4.8', 'a PUBACK of 0', () => [packet(0x40, [0, 0])], CLOSED),
  then('4.8', 'a PUBACK without a packet identifier', () => [packet(0x40, [])], CLOSED),
  // Mosquitto reads two bytes and no more.
  then('4.8', 'a PUBACK that is too long', () => [packet(0x40, [0, 1, 0])], CLOSED, ''),
  then('4.8', 'a PUBACK of nothing', () => [packet(0x40, [0, 1])], ''),
  // [MQTT-4.3.3-1]: a PUBREC is answered with PUBREL, also if it belongs to no message.
  then('[MQTT-4.3.3-1]', 'a PUBREC of nothing', () => [packet(0x50, [0, 7])], 'pubrel 7'),
  then(
    '4.3.3',
    'a PUBREC of nothing, again',
    () => [packet(0x50, [0, 7]), packet(0x50, [0, 7])],
    'pubrel 7, pubrel 7',
  ),
  then('4.3.3', 'a PUBCOMP of nothing', () => [packet(0x70, [0, 7])], ''),
  {
    rule: '4.3.3',
    name: 'a PUBREC and a PUBCOMP of nothing in a kept session',
    send: device => [connect(device, { clean: false }), packet(0x50, [0, 7]), packet(0x70, [0, 7])],
    ours: 'connack 0, pubrel 7, open',
  },
  then('[MQTT-2.3.1-1]', 'a PUBREC of 0', () => [packet(0x50, [0, 0])], CLOSED),
]

const SUBSCRIPTIONS: Case[] = [
  then('[MQTT-3.8.4-1]', 'a filter of its own', d => [subscribePacket([[own(d, '#'), 1]], 7)], 'suback 7 1'),
  then(
    '[MQTT-3.8.4-5]',
    'each filter has its answer',
    d => [
      subscribePacket([
        [own(d, '#'), 2],
        ['devices/other/#', 1],
        [own(d, 'rejections'), 0],
      ]),
    ],
    'suback 1 2 128 0',
    // In Mosquitto everybody may subscribe to everything.
    'suback 1 2 1 0',
  ),
  then('7.4', '#', () => [subscribePacket([['#', 0]])], 'suback 1 128', 'suback 1 0'),
  then('7.4', '$SYS/#', () => [subscribePacket([['$SYS/#', 0]])], 'suback 1 128', 'suback 1 0'),
  // Shared subscriptions belong to MQTT 5; Mosquitto has them in 3.1.1 as well.
  then(
    '7.4',
    '$share/',
    d => [subscribePacket([[`$share/a/${own(d, '#')}`, 0]])],
    'suback 1 128',
    'suback 1 0',
  ),
  then(
    '[MQTT-2.2.2-2]',
    'flags of a SUBSCRIBE',
    d => [flagged(subscribePacket([[own(d, '#'), 1]]), 0x80)],
    CLOSED,
  ),
  then(
    '[MQTT-2.3.1-1]',
    'a SUBSCRIBE with identifier 0',
    d => [subscribePacket([[own(d, '#'), 1]], 0)],
    CLOSED,
  ),
  then('[MQTT-3.8.3-3]', 'a SUBSCRIBE without filters', () => [subscribePacket([])], CLOSED),
  then('[MQTT-3.8.3-4]', 'a SUBSCRIBE with QoS 3', d => [subscribePacket([[own(d, '#'), 3]])], CLOSED),
  then(
    '[MQTT-3.8.3-4]',
    'reserved bits of a requested QoS',
    d => [subscribePacket([[own(d, '#'), 5]])],
    CLOSED,
  ),
  ...['', 'a#', 'a/#/b', '+a', 'a+', 'a/b+/c', '#a'].map(filter =>
    then(
      '[MQTT-4.7.1-2], [MQTT-4.7.1-3]',
      `the filter "${filter}"`,
      () => [subscribePacket([[filter, 0]])],
      CLOSED,
    ),
  ),
  then('[MQTT-1.5.3-2]', 'NUL in a filter', () => [subscribePacket([[NUL, 0]])], CLOSED),
  then('[MQTT-1.5.3-1]', 'a filter that is not UTF-8', () => [subscribePacket([[OVERLONG, 0]])], CLOSED),
  then('[MQTT-3.10.4-4]', 'an UNSUBSCRIBE', d => [unsubscribePacket([own(d, '#')], 8)], 'unsuback 8'),
  then('[MQTT-3.10.3-2]', 'an UNSUBSCRIBE without filters', () => [unsubscribePacket([])], CLOSED),
  then(
    '[MQTT-2.3.1-1]',
    'an UNSUBSCRIBE with identifier 0',
    d => [unsubscribePacket([own(d, '#')], 0)],
    CLOSED,
  ),
  then('[MQTT-4.7.1-2]', 'an UNSUBSCRIBE from a malformed filter', () => [unsubscribePacket(['a#'])], CLOSED),
  then(
    '[MQTT-2.2.2-2]',
    'flags of an UNSUBSCRIBE',
    d => [flagged(unsubscribePacket([own(d, '#')]), 0xa0)],
    CLOSED,
  ),
]

const OTHERS: Case[] = [
  // Mosquitto checks neither flags nor length of a PINGREQ.
  then('[MQTT-2.2.2-2]', 'flags of a PINGREQ', () => [[0xc1, 0]], CLOSED, ''),
  then('3.12.1', 'a PINGREQ with content', () => [packet(0xc0, [1])], CLOSED, ''),
  then('[MQTT-3.14.4-1]', 'a DISCONNECT', () => [packet(0xe0, [])], CLOSED),
  then('[MQTT-3.14.1-1]', 'flags of a DISCONNECT', () => [[0xe1, 0]], CLOSED),
  then('3.14.1', 'a DISCONNECT with content', () => [packet(0xe0, [0])], CLOSED),
  then('2.2.1', 'a CONNACK, which only servers send', () => [packet(0x20, [0, 0])], CLOSED),
  // Mosquitto's server and client share their code, which accepts these packets from both sides.
  then('2.2.1', 'a SUBACK, which only servers send', () => [packet(0x90, [0, 1, 0])], CLOSED, ''),
  then('2.2.1', 'an UNSUBACK, which only servers send', () => [packet(0xb0, [0, 1])], CLOSED, ''),
  then('2.2.1', 'a PINGRESP, which only servers send', () => [packet(0xd0, [])], CLOSED, ''),
  then('2.2.1', 'the forbidden packet type 15', () => [packet(0xf0, [])], CLOSED),
  {
    rule: 'MQTT 3.1, 2.1',
    name: 'DUP in a SUBSCRIBE that is repeated',
    send: d => [connect(d, { name: 'MQIsdp', level: 3 }), flagged(subscribePacket([[own(d, '#'), 1]]), 0x8a)],
    ours: 'connack 0, suback 1 1, open',
  },
]

export const CASES: Case[] = [...CONNECTS, ...PUBLISHES, ...SUBSCRIPTIONS, ...OTHERS]
