import type { TrackerMessage } from '../profile.ts'

/**
 * The steps that reading one message may take; each visited value is one. 1,000 positions of 20 fields take about
 * 100,000. The most expensive profiles that a search found take 10 ms for all of them (bench/profiles.ts).
 */
export const MAX_STEPS = 150_000

/** Thrown when a message has used up its steps. */
export class StepsExceeded extends Error {
  constructor() {
    super('The message takes too many steps')
  }
}

/** The parts of a message that paths begin with. */
export const ROOTS = ['payload', 'topic', 'clientId', 'username', 'query', 'item'] as const

/** A message while it is read: its parts by their names in paths, and the steps that are left. */
export class Context {
  readonly payload: unknown
  /** The levels of the topic. */
  readonly topic: readonly string[] | null
  readonly clientId: string | null
  readonly username: string | null
  readonly query: unknown
  /** The element of `each` that is being read. */
  item: unknown = undefined
  #left = MAX_STEPS
  /** Texts that have been read as JSON: several fields often come from the same one. */
  #parsed: Map<string, unknown> | null = null
  /** The values of objects: listing 20,000 takes 5 ms. */
  #listed: Map<object, readonly unknown[]> | null = null

  constructor(payload: unknown, { topic, clientId, username, query }: TrackerMessage) {
    this.payload = payload
    this.topic = topic === null ? null : topic.split('/')
    this.clientId = clientId
    this.username = username
    this.query = query
  }

  /** Counts steps; throws when there are none left. */
  take(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new StepsExceeded()
  }

  /** The values of an object. */
  valuesOf(object: object): readonly unknown[] {
    this.#listed ??= new Map()
    const known = this.#listed.get(object)
    if (known) return known
    const values = Object.values(object)
    this.take(values.length)
    this.#listed.set(object, values)
    return values
  }

  /** The value of a text that holds JSON, or undefined. */
  parse(text: string): unknown {
    this.#parsed ??= new Map()
    if (this.#parsed.has(text)) return this.#parsed.get(text)
    // Parsing takes up to a step's time for each character.
    this.take(text.length)
    const value = parseJson(text)
    this.#parsed.set(text, value)
    return value
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
