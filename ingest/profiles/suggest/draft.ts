import type { Choices, Condition, Source } from '../../../db/schema/tracker-profiles.ts'
import { NoPoint } from '../../formats/format.ts'
import { readPayload } from '../payload.ts'
import type { TrackerMessage } from '../profile.ts'
import { type Guess, guessDevice, guessField, guessPair, isBeside } from './guesses.ts'
import { type Leaf, listLeaves, pathOf } from './leaves.ts'

/**
 * A profile made from the names and values of messages, with a sentence for each choice; null without a position. Each step
 * looks at one message.
 */
export function* draftProfile(
  messages: readonly TrackerMessage[],
): Generator<void, { choices: Choices; because: string[] } | null> {
  const read = []
  for (const message of messages) {
    const payload = readPayload(message)
    const leaves = payload instanceof NoPoint ? [] : listLeaves(payload.value)
    read.push({ message, leaves, query: leavesOfQuery(message) })
    yield
  }
  for (const { message, leaves, query } of read) {
    for (const [root, some] of [
      ['payload', leaves],
      ['query', query],
    ] as const) {
      const pair = guessPair(some)
      yield
      if (pair)
        return draftFrom({
          root,
          leaves: some,
          pair,
          message,
          messages,
          others: read.map(one => (root === 'payload' ? one.leaves : one.query)),
        })
    }
  }
  return null
}

const leavesOfQuery = ({ query }: TrackerMessage) => (query ? listLeaves(query) : [])

interface Found {
  root: 'payload' | 'query'
  leaves: readonly Leaf[]
  pair: readonly [Guess, Guess]
  message: TrackerMessage
  messages: readonly TrackerMessage[]
  /** The values of all messages. */
  others: readonly (readonly Leaf[])[]
}

function draftFrom(found: Found): { choices: Choices; because: string[] } {
  const { pair, leaves, root, message, messages } = found
  const because: string[] = []
  const { list } = pair[0].leaf
  const path = (leaf: Leaf) => pathOf(leaf.list === null ? root : 'item', leaf.steps)
  const source = (guess: Guess): Source => ({
    from: [path(guess.leaf)],
    json: null,
    split: guess.split ?? null,
    unit: guess.unit,
    absent: guess.absent ?? [],
  })
  const explain = (field: string, guess: Guess | null): Source | null => {
    if (!guess) return null
    because.push(`${path(guess.leaf)} is the ${field} by its name${guess.doubt ? `; ${guess.doubt}` : ''}.`)
    return source(guess)
  }
  // Fields beside the position come before fields elsewhere; another list is about something else.
  const near = leaves.filter(leaf => isBeside(leaf, pair[0].leaf))
  const rest = leaves.filter(leaf => !near.includes(leaf) && (leaf.list === null || leaf.list === list))
  const field = (name: string) => explain(name, guessField(name, [...near, ...rest]))
  if (list !== null) because.push(`${pathOf(root, list)} is a list of positions.`)
  const fields = {
    lat: explain('latitude', pair[0]) as Source,
    lng: explain('longitude', pair[1]) as Source,
    timestamp: field('timestamp'),
    speed: field('speed'),
    heading: field('heading'),
    accuracy: field('accuracy'),
    altitude: field('altitude'),
    battery: field('battery'),
  }
  const device = draftDevice([...near, ...rest], path, message, messages, because)
  return {
    choices: {
      topic: draftTopic(messages, device, String(guessDevice([...near, ...rest])?.value ?? '')),
      each: list === null ? null : pathOf(root, list),
      when: draftConditions(found, path, because),
      device,
      fields,
      attributes: {},
    },
    because,
  }
}

const plain = (from: string): Source => ({ from: [from], json: null, split: null, unit: null, absent: [] })

const IDENTIFIER = /^(?=.*\d)[A-Za-z0-9!:_-]{4,}$/

/** A value by its name, else a level of the topic that looks like an identifier, else the client identifier. */
function draftDevice(
  leaves: readonly Leaf[],
  path: (leaf: Leaf) => string,
  { topic, clientId }: TrackerMessage,
  messages: readonly TrackerMessage[],
  because: string[],
): Source | null {
  const leaf = guessDevice(leaves)
  if (leaf) {
    because.push(`${path(leaf)} names the device.`)
    return plain(path(leaf))
  }
  const levels = topic?.split('/') ?? []
  const differing = levels.findIndex((level, index) =>
    messages.some(one => one.topic !== null && one.topic.split('/')[index] !== level),
  )
  const index = levels.findLastIndex(level => IDENTIFIER.test(level))
  const place = index === -1 ? differing : index
  if (place !== -1) {
    because.push(`Level ${place + 1} of the topic names the device.`)
    return plain(`$.topic[${place}]`)
  }
  if (clientId === null) return null
  because.push('The client identifier names the device.')
  return plain('$.clientId')
}

/** A filter for the topics of all messages, with a wildcard where they differ and where the device stands. */
function draftTopic(messages: readonly TrackerMessage[], device: Source | null, named: string): string {
  const topics = messages.flatMap(({ topic }) => (topic === null ? [] : [topic.split('/')]))
  const [first] = topics
  if (!first) return '#'
  const length = Math.min(...topics.map(levels => levels.length))
  const ofDevice = Number(/^\$\.topic\[(\d+)\]$/.exec(device?.from[0] ?? '')?.[1] ?? -1)
  const filter = first
    .slice(0, length)
    .map((level, index) =>
      index === ofDevice || level === named || topics.some(levels => levels[index] !== level) ? '+' : level,
    )
  return topics.some(levels => levels.length > length) ? [...filter, '#'].join('/') : filter.join('/')
}

/** Messages without the latitude, or with 0, have no position by design. */
function draftConditions(
  { pair: [lat], others }: Found,
  path: (leaf: Leaf) => string,
  because: string[],
): Condition[] {
  const from = path(lat.leaf)
  const { steps, list } = lat.leaf
  const same = (leaf: Leaf) =>
    (leaf.list === null) === (list === null) &&
    leaf.steps.length === steps.length &&
    leaf.steps.every((name, place) => name === steps[place])
  const when: Condition[] = []
  if (others.some(leaves => !leaves.some(same))) {
    when.push({ from, is: 'exists' })
    because.push(`Messages without ${from} have no position.`)
  }
  if (others.some(leaves => leaves.some(leaf => same(leaf) && Number(leaf.value) === 0))) {
    when.push({ from, is: 'not', value: 0 })
    because.push(`With 0 at ${from} there is no fix.`)
  }
  return when
}
