import type { TestDevice } from '../support/client.ts'
import { type Case, own, point as pointOf } from './protocol-cases.ts'
import {
  connectPacket,
  field,
  numberProperty,
  type Properties,
  packet,
  subscribePacket,
  unsubscribePacket,
  userProperty,
} from './raw.ts'

type Bytes = Buffer | number[]
type Connect = Parameters<typeof connectPacket>[0]

let clients = 0
const connect = (device: TestDevice, options: Partial<Connect> = {}) =>
  connectPacket({
    clientId: `five${clients++}`,
    username: device.id,
    password: device.key,
    level: 5,
    ...options,
  })
const point = (device: TestDevice, options: Parameters<typeof pointOf>[1] = {}) =>
  pointOf(device, { properties: [], ...options })

/** A case of a CONNECT alone. */
const opening = (
  rule: string,
  name: string,
  options: Partial<Connect>,
  ours: string,
  mosquitto?: string | null,
): Case => ({ rule, name, send: device => [connect(device, options)], ours, mosquitto })

/** A case of packets that follow a valid CONNECT. */
const then = (
  rule: string,
  name: string,
  send: (device: TestDevice) => Bytes[],
  ours: string,
  mosquitto?: string | null,
): Case => ({
  rule,
  name,
  send: device => [connect(device), ...send(device)],
  ours: after(ours),
  mosquitto: typeof mosquitto === 'string' ? after(mosquitto) : mosquitto,
})

const after = (answer: string) =>
  /^(disconnect|closed)/.test(answer)
    ? `connack 0, ${answer === 'closed' ? answer : `${answer}, closed`}`
    : answer === ''
      ? OPEN
      : `connack 0, ${answer}, open`

const OPEN = 'connack 0, open'
const refused = (code: number) => `connack ${code}, closed`
const ended = (code: number) => `disconnect 0x${code.toString(16)}`

const [SESSION_EXPIRY, METHOD, DATA, PROBLEMS, WILL_DELAY] = [17, 21, 22, 23, 24]
const [FORMAT, EXPIRY, CONTENT_TYPE, RESPONSE_TOPIC, CORRELATION, SUBSCRIPTION] = [1, 2, 3, 8, 9, 11]
const [REASON_STRING, RECEIVE_MAXIMUM, ALIAS_MAXIMUM, ALIAS, MAX_PACKET] = [31, 33, 34, 35, 39]
const text = (id: number, value: string | Buffer) => Buffer.concat([Buffer.of(id), field(value)])
const NO_UTF8 = Buffer.from([0xc0, 0x80])
const alias = (value: number): Properties => [numberProperty(ALIAS, value, 2)]
const many = (count: number) => Array.from({ length: count }, () => userProperty('', ''))

/** A CONNECT with properties that break a rule; Mosquitto is not asked. */
const breaking = (rule: string, name: string, properties: Properties, code: number) =>
  opening(rule, name, { properties }, refused(code), null)

const CONNECTS: Case[] = [
  opening('3.1', 'a good CONNECT is accepted', {}, OPEN),
  opening(
    '3.1.2.11',
    'every property of a CONNECT',
    {
      properties: [
        numberProperty(SESSION_EXPIRY, 60, 4),
        numberProperty(RECEIVE_MAXIMUM, 1, 2),
        numberProperty(MAX_PACKET, 100_000, 4),
        numberProperty(ALIAS_MAXIMUM, 10, 2),
        [25, 1],
        [PROBLEMS, 0],
        userProperty('a', 'b'),
        userProperty('a', 'b'),
      ],
    },
    OPEN,
  ),
  opening('3.1.3.1', 'no client identifier, and no clean start', { clientId: '', clean: false }, OPEN),
  opening(
    '3.1.3.1',
    'a client identifier that is too long',
    { clientId: 'x'.repeat(300) },
    refused(0x85),
    OPEN,
  ),
  // Mosquitto lets everybody in here.
  opening('3.1.3.6', 'a password without a user name', { username: undefined }, refused(0x86), OPEN),
  opening('7.4', 'a wrong key', { password: 'x' }, refused(0x86), OPEN),
  opening(
    '7.4',
    'a will on a topic that is not its own',
    { will: { topic: 'a', payload: 'b' } },
    refused(0x87),
    OPEN,
  ),
  opening('[MQTT-3.1.2-3]', 'the reserved flag', { flags: 0xc3 }, refused(0x81), 'closed'),
  opening(
    '[MQTT-3.1.3-4]',
    'a client identifier that is not UTF-8',
    { clientId: NO_UTF8 },
    refused(0x81),
    null,
  ),
  opening(
    '[MQTT-3.1.2-12]',
    'a will of QoS 3',
    { will: { topic: 'a', payload: '', qos: 3 } },
    refused(0x81),
    null,
  ),
  opening('4.12', 'another authentication', { properties: [text(METHOD, 'SCRAM')] }, refused(0x8c)),
  opening(
    '3.1.2.11.10',
    'authentication data without a method',
    { properties: [text(DATA, 'a')] },
    refused(0x82),
    OPEN,
  ),
  breaking('3.1.2.11.2', 'a property twice', [[PROBLEMS, 0, PROBLEMS, 0]], 0x82),
  breaking('3.1.2.11.3', 'a receive maximum of 0', [numberProperty(RECEIVE_MAXIMUM, 0, 2)], 0x82),
  breaking('3.1.2.11.4', 'a maximum packet size of 0', [numberProperty(MAX_PACKET, 0, 4)], 0x82),
  breaking('limit', 'no room for a CONNACK in a packet', [numberProperty(MAX_PACKET, 99, 4)], 0x95),
  breaking('3.1.2.11.7', 'problem information of 2', [[PROBLEMS, 2]], 0x82),
  breaking('2.2.2.2', 'a property of a PUBLISH in a CONNECT', alias(1), 0x81),
  breaking('2.2.2.2', 'an unknown property', [[99, 0]], 0x81),
  breaking('2.2.2.1', 'a property that is cut short', [[SESSION_EXPIRY, 0]], 0x81),
  breaking('[MQTT-1.5.4-1]', 'a user property that is not UTF-8', [userProperty('a', NO_UTF8)], 0x81),
  opening(
    '[MQTT-3.2.2-13]',
    'a will that is to be retained',
    { will: { topic: 'a', payload: '', retain: true } },
    refused(0x9a),
    OPEN,
  ),
  {
    rule: '3.1.3.2',
    name: 'a will with every property',
    send: device => [
      connect(device, {
        will: {
          topic: own(device, 'location'),
          payload: '{}',
          qos: 1,
          properties: [
            numberProperty(WILL_DELAY, 1, 4),
            [FORMAT, 1],
            numberProperty(EXPIRY, 9, 4),
            text(CONTENT_TYPE, 'application/json'),
            text(RESPONSE_TOPIC, 'a'),
            text(CORRELATION, 'a'),
            userProperty('a', 'b'),
          ],
        },
      }),
      packet(0xe0, []),
    ],
    ours: 'connack 0, closed',
  },
  {
    rule: '3.1.0-2',
    name: 'a second CONNECT',
    send: device => [connect(device), connect(device)],
    ours: 'connack 0, disconnect 0x82, closed',
    mosquitto: 'connack 0, closed',
  },
]

const PUBLISHES: Case[] = [
  // Mosquitto says that nobody has subscribed.
  then('4.3.2', 'QoS 1', device => [point(device)], 'puback 1', 'puback 1 0x10'),
  then('4.3.3', 'QoS 2', d => [point(d, { qos: 2 }), packet(0x62, [0, 1])], 'pubrec 1, pubcomp 1'),
  then('3.7.2.1', 'a PUBREL of nothing', () => [packet(0x62, [0, 9])], 'pubcomp 9 0x92', null),
  then(
    '[MQTT-4.6.0-2]',
    'in order',
    d => [point(d, { topic: 'elsewhere' }), point(d, { id: 2 }), point(d, { topic: 'elsewhere', id: 3 })],
    'puback 1 0x87, puback 2, puback 3 0x87',
    null,
  ),
  then(
    '3.3.2.3',
    'every property of a PUBLISH',
    d => [point(d, { properties: EVERY })],
    'puback 1',
    'puback 1 0x10',
  ),
  // Topics have no owners in Mosquitto here.
  then('7.4', 'another topic', d => [point(d, { topic: 'elsewhere' })], 'puback 1 0x87', 'puback 1 0x10'),
  then('7.4', 'another topic with QoS 2', d => [point(d, { topic: 'a', qos: 2 })], 'pubrec 1 0x87', null),
  then('7.4', 'another topic with QoS 0', d => [point(d, { topic: 'a', qos: 0 })], ''),
  then(
    '4.3.3',
    'the identifier of a refused message is free again',
    d => [point(d, { topic: 'a', qos: 2 }), packet(0x62, [0, 1])],
    'pubrec 1 0x87, pubcomp 1 0x92',
    null,
  ),
  then('limit', 'a topic of 100 levels', d => [point(d, { topic: 'a/'.repeat(98) })], 'puback 1 0x90', null),
  then('7.4', 'retain', d => [point(d, { retain: true })], ended(0x9a), null),
  then('[MQTT-3.3.1-4]', 'QoS 3', d => [flagged(point(d), 0x36)], ended(0x81)),
  then('[MQTT-3.3.1-2]', 'DUP with QoS 0', d => [point(d, { qos: 0, dup: true })], ended(0x81), ''),
  then('[MQTT-2.2.1-3]', 'packet identifier 0', d => [point(d, { id: 0 })], ended(0x82), null),
  then('[MQTT-3.3.2-2]', '+ in the topic', d => [point(d, { topic: 'a/+' })], ended(0x81), ended(0x82)),
  then('[MQTT-1.5.4-2]', 'NUL in the topic', d => [point(d, { topic: 'a\0' })], ended(0x81)),
  then('3.3.2.1', 'no topic and no alias', d => [point(d, { topic: '' })], ended(0x82)),
  then('3.3.2.3.4', 'alias 0', d => [point(d, { properties: alias(0) })], ended(0x94), ended(0x81)),
  then('3.3.2.3.4', 'alias 17', d => [point(d, { properties: alias(17) })], ended(0x94)),
  then('3.3.4', 'an alias of nothing', d => [point(d, { topic: '', properties: alias(1) })], ended(0x82)),
  then(
    '3.3.2.3.4',
    'an alias',
    d => [
      point(d, { properties: alias(16) }),
      point(d, { topic: '', id: 2, properties: alias(16) }),
      point(d, { topic: 'a', id: 3, properties: alias(16) }),
      point(d, { topic: '', id: 4, properties: alias(16) }),
    ],
    'puback 1, puback 2, puback 3 0x87, puback 4 0x87',
    null,
  ),
  then(
    '3.3.2.3.4',
    'an alias of a topic that is too long',
    d => [
      point(d, { topic: 'x'.repeat(60_000), properties: alias(1) }),
      point(d, { topic: '', id: 2, properties: alias(1) }),
    ],
    'puback 1 0x90, puback 2 0x90',
    null,
  ),
  then(
    '3.3.4',
    'a subscription identifier',
    d => [point(d, { properties: [[SUBSCRIPTION, 1]] })],
    ended(0x81),
    null,
  ),
  then(
    '3.3.2.3.2',
    'a payload format of 2',
    d => [point(d, { properties: [[FORMAT, 2]] })],
    ended(0x82),
    null,
  ),
  then(
    '[MQTT-3.3.2-14]',
    'a response topic with wildcards',
    d => [point(d, { properties: [text(RESPONSE_TOPIC, 'a/#')] })],
    ended(0x82),
    null,
  ),
  then(
    'limit',
    '1,638 user properties',
    d => [point(d, { properties: many(1_638) })],
    'puback 1',
    'puback 1 0x10',
  ),
  then('limit', '1,639 user properties', d => [point(d, { properties: many(1_639) })], ended(0x97), null),
  then('limit', '50,000 user properties', d => [point(d, { properties: many(50_000) })], ended(0x97), null),
  then(
    '2.2.2.1',
    'properties that are longer than their packet',
    d => [packet(0x32, field(own(d, 'location')), [0, 1, 200])],
    ended(0x81),
  ),
  then('2.2.2.1', 'no properties', d => [packet(0x32, field(own(d, 'location')), [0, 1])], ended(0x81)),
  then('[MQTT-3.1.2-24]', 'the announcement of 257 KiB', () => [[0x30, 0x80, 0x88, 0x10]], ended(0x95), null),
  then('3.4.2', 'a PUBACK of nothing', () => [packet(0x40, [0, 1])], ''),
  then('3.4.2', 'a PUBACK with a reason', () => [packet(0x40, [0, 1, 0x80, 4, REASON_STRING, 0, 1, 97])], ''),
  then('3.4.2.1', 'a PUBACK with another reason', () => [packet(0x40, [0, 1, 0x55])], ended(0x81), null),
  then('4.3.3', 'a PUBREC of nothing', () => [packet(0x50, [0, 7])], 'pubrel 7 0x92', null),
  then('4.3.3', 'a PUBREC that is an error', () => [packet(0x50, [0, 7, 0x80])], ''),
]

const EVERY: Properties = [
  [FORMAT, 1],
  numberProperty(EXPIRY, 60, 4),
  text(CONTENT_TYPE, 'application/json'),
  text(RESPONSE_TOPIC, 'answers'),
  text(CORRELATION, Buffer.from([0, 255])),
  userProperty('a', 'b'),
]

function flagged(bytes: Buffer, first: number): Buffer {
  return Buffer.concat([Buffer.from([first]), bytes.subarray(1)])
}

const subscribe = (filters: [string | Buffer, number][], properties: Properties = []) =>
  subscribePacket(filters, 1, properties)

const SUBSCRIPTIONS: Case[] = [
  then(
    '3.9.3',
    'each filter has its reason',
    d => [
      subscribe([
        [own(d, '#'), 2],
        ['devices/other/#', 1],
        ['$share/a/b', 1],
        [own(d, 'a/'.repeat(20)), 1],
        [own(d, 'rejections'), 0],
      ]),
    ],
    `suback 1 2 ${0x87} ${0x9e} ${0x8f} 0`,
    null,
  ),
  then(
    '3.8.3.1',
    'no-local and retain options',
    d => [subscribe([[own(d, '#'), 0b10_11_01]])],
    'suback 1 1',
    null,
  ),
  then('3.8.3.1', 'retain handling 3', d => [subscribe([[own(d, '#'), 0x31]])], ended(0x81), null),
  then('3.8.3.1', 'reserved bits', d => [subscribe([[own(d, '#'), 0x41]])], ended(0x81), null),
  then(
    '[MQTT-3.8.3-4]',
    'a shared subscription with no-local',
    () => [subscribe([['$share/a/b', 5]])],
    ended(0x82),
    null,
  ),
  then(
    '3.8.2.1.2',
    'a subscription identifier',
    d => [subscribe([[own(d, '#'), 1]], [[SUBSCRIPTION, 1]])],
    `suback 1 ${0xa1}`,
    null,
  ),
  then(
    '3.8.2.1.2',
    'a subscription identifier of 0',
    d => [subscribe([[own(d, '#'), 1]], [[SUBSCRIPTION, 0]])],
    ended(0x82),
    null,
  ),
  then(
    'limit',
    'a filter too many',
    d => [subscribe(Array.from({ length: 21 }, (_, n) => [own(d, `${n}`), 0]))],
    `suback 1 ${'0 '.repeat(20)}${0x97}`,
    null,
  ),
  then('[MQTT-3.8.3-2]', 'a SUBSCRIBE without filters', () => [subscribe([])], ended(0x82), null),
  then('4.7.1', 'a malformed filter', () => [subscribe([['a#', 0]])], ended(0x81)),
  then(
    '3.11.3',
    'an UNSUBSCRIBE',
    d => [
      subscribe([[own(d, '#'), 1]]),
      unsubscribePacket([own(d, '#'), own(d, '#'), own(d, 'x')], 2, [userProperty('a', 'b')]),
    ],
    `suback 1 1, unsuback 2 0 ${0x11} ${0x11}`,
  ),
  then('3.10.3', 'an UNSUBSCRIBE without filters', () => [unsubscribePacket([], 1, [])], ended(0x82), null),
]

const OTHERS: Case[] = [
  then('4.12', 'AUTH', () => [packet(0xf0, [0x19, 0])], ended(0x82), 'closed'),
  then('3.14', 'a DISCONNECT', () => [packet(0xe0, [])], 'closed'),
  then('3.14', 'a DISCONNECT with a reason', () => [packet(0xe0, [0x04])], 'closed'),
  then(
    '3.14.2.2.2',
    'a session that was not to be kept',
    () => [packet(0xe0, [0, 5], numberProperty(SESSION_EXPIRY, 9, 4))],
    ended(0x82),
    null,
  ),
  then('3.14.1', 'flags of a DISCONNECT', () => [[0xe1, 0]], ended(0x81), null),
  then('2.1.2', 'a CONNACK, which only servers send', () => [packet(0x20, [0, 0, 0])], ended(0x82), null),
]

export const CASES_OF_VERSION_5: Case[] = [...CONNECTS, ...PUBLISHES, ...SUBSCRIPTIONS, ...OTHERS]
