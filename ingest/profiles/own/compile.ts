import type { Choices, ProfileFields } from '../../../db/schema/tracker-profiles.ts'
import { NoPoint, type RawFix } from '../../formats/format.ts'
import { isTopicFilter, isWithinLimits } from '../../mqtt/topics.ts'
import { MAX_POSITIONS, positionsOf, readPayload, readReference, refuse, skip, tooMany } from '../payload.ts'
import type { ProfileReader, ReadMessage, ReadPosition, TrackerMessage } from '../profile.ts'
import { type Check, compileCondition } from './conditions.ts'
import { Context, MAX_STEPS, StepsExceeded } from './context.ts'
import { ProfileFault } from './fault.ts'
import type { Find } from './path.ts'
import { createPathCompiler, MAX_PATHS, type PathCompiler } from './paths.ts'
import { compileSource, type Read } from './source.ts'

/**
 * Own profiles. A list of choices is compiled once to plain functions, which then read each message. There is no
 * language to evaluate: paths name values, sources convert them. Every value that is visited counts as a step, and a
 * message that takes too many is a rejection, so that no profile can occupy the process.
 */

interface Compiled {
  each: { find: Find; path: string } | null
  checks: readonly Check[]
  /** Those that look at the element of the list. */
  itemChecks: readonly Check[]
  device: Read | null
  fields: Fields
  attributes: readonly (readonly [name: string, Read])[]
  takesText: boolean
}

type Fields = { [field in keyof ProfileFields]-?: Read | null } & { lat: Read; lng: Read; why: NoPoint }

/** Compiles a profile. Throws a ProfileFault for a choice that makes no sense. */
export function compileProfile(choices: Choices): ProfileReader {
  if (!isTopicFilter(choices.topic) || !isWithinLimits(choices.topic)) {
    throw new ProfileFault(
      ['topic'],
      'This is no MQTT filter: + stands for one level, # for all that follow.',
    )
  }
  checkPaths(choices)
  const compiled = compile(choices)
  return {
    topic: choices.topic,
    read: (message, receivedAt) => readMessage(compiled, message, receivedAt),
  }
}

function compile({ each, when, device, fields, attributes }: Choices): Compiled {
  const whole = createPathCompiler({ hasItems: false })
  const list = each === null ? null : { find: whole.compile(each, ['each']).find, path: each }
  const paths = createPathCompiler({ hasItems: each !== null })
  const conditions = when.map((condition, index) => compileCondition(condition, index, paths))
  const reference = device && compileSource(device, 'device', ['device'], paths)
  return {
    each: list,
    checks: conditions.flatMap(({ check, isOfItem }) => (isOfItem ? [] : check)),
    itemChecks: conditions.flatMap(({ check, isOfItem }) => (isOfItem ? check : [])),
    device: reference,
    fields: compileFields(fields, paths),
    attributes: Object.entries(attributes).map(
      ([name, source]) => [name, compileSource(source, 'attributes', ['attributes', name], paths)] as const,
    ),
    takesText: whole.takesText || paths.takesText,
  }
}

function compileFields(fields: ProfileFields, paths: PathCompiler): Fields {
  const of = (name: keyof ProfileFields): Read | null => {
    const source = fields[name]
    return source ? compileSource(source, name, ['fields', name], paths) : null
  }
  const places = [fields.lat, fields.lng].map(({ from }) => namePaths(from)).join(', and at ')
  return {
    lat: compileSource(fields.lat, 'lat', ['fields', 'lat'], paths),
    lng: compileSource(fields.lng, 'lng', ['fields', 'lng'], paths),
    timestamp: of('timestamp'),
    speed: of('speed'),
    heading: of('heading'),
    accuracy: of('accuracy'),
    altitude: of('altitude'),
    battery: of('battery'),
    why: new NoPoint('bad-coordinates', `Latitude and longitude are expected at ${places}.`),
  }
}

/** The paths that a rejection names: a message of 2 KB may have 1,000 rejections, and a field 64 paths of 256 characters. */
const NAMED_PATHS = 2

const namePaths = (paths: readonly string[]) =>
  [...paths.slice(0, NAMED_PATHS), ...(paths.length > NAMED_PATHS ? ['another path'] : [])].join(' or ')

function checkPaths({ each, when, device, fields, attributes }: Choices): void {
  const sources = [device, ...Object.values(fields), ...Object.values(attributes)].flatMap(
    source => source ?? [],
  )
  const count =
    (each === null ? 0 : 1) +
    when.length +
    sources.reduce((sum, { from, json }) => sum + from.length + (json ? 1 : 0), 0)
  if (count > MAX_PATHS)
    throw new ProfileFault([], `A profile has at most ${MAX_PATHS} paths, this one has ${count}.`)
}

const STEPS = new NoPoint(
  'bad-shape',
  `Reading this message takes more than the ${MAX_STEPS} steps that a profile has for one.`,
)

function readMessage(profile: Compiled, message: TrackerMessage, receivedAt: number): ReadMessage {
  // A form over HTTP has its values in the query alone.
  const payload =
    message.payload.length === 0 && message.query ? { value: null } : readPayload(message, profile.takesText)
  const isUnreadable = payload instanceof NoPoint
  const context = new Context(isUnreadable ? undefined : payload.value, message)
  let reference: string | null = null
  try {
    reference = referenceOf(profile, context)
    if (isUnreadable) return refuse(reference, payload)
    const why = findFailing(profile.checks, context)
    if (why !== null) return skip(reference, why)
    return profile.each
      ? readList(profile, profile.each, context, reference, receivedAt)
      : readOne(profile, context, reference, receivedAt)
  } catch (error) {
    if (error instanceof StepsExceeded) return refuse(reference, STEPS)
    throw error
  }
}

const referenceOf = ({ device }: Compiled, context: Context) => device && readReference(device(context))

function readOne(
  profile: Compiled,
  context: Context,
  reference: string | null,
  receivedAt: number,
): ReadMessage {
  const fix = readFix(profile, context, receivedAt)
  return positionsOf(reference, [{ reference, value: context.payload, index: null, fix }])
}

function readList(
  profile: Compiled,
  each: { find: Find; path: string },
  context: Context,
  reference: string | null,
  receivedAt: number,
): ReadMessage {
  const items = each.find(context, Array.isArray) as readonly unknown[] | undefined
  if (!items) return refuse(reference, new NoPoint('bad-shape', `A list is expected at ${each.path}.`))
  if (items.length > MAX_POSITIONS) return refuse(reference, tooMany(items.length))
  const positions: ReadPosition[] = []
  let skipped = `The list at ${each.path} is empty.`
  for (const [index, item] of items.entries()) {
    context.item = item
    const why = findFailing(profile.itemChecks, context)
    if (why !== null) {
      skipped = why
      continue
    }
    const fix = readFix(profile, context, receivedAt)
    positions.push({ reference: referenceOf(profile, context), value: item, index, fix })
  }
  return positions.length > 0 ? positionsOf(reference, positions) : skip(reference, skipped)
}

function findFailing(checks: readonly Check[], context: Context): string | null {
  for (const check of checks) {
    const why = check(context)
    if (why !== null) return why
  }
  return null
}

function readFix({ fields, attributes }: Compiled, context: Context, receivedAt: number): RawFix | NoPoint {
  const lat = fields.lat(context)
  const lng = fields.lng(context)
  if (typeof lat !== 'number' || typeof lng !== 'number') return fields.why
  const timestamp = fields.timestamp?.(context)
  return {
    lat,
    lng,
    // A time that holds nothing is unknown; one that cannot be read is a fault.
    timestamp: timestamp === undefined ? receivedAt : timestamp,
    speed: fields.speed?.(context),
    heading: fields.heading?.(context),
    accuracy: fields.accuracy?.(context),
    altitude: fields.altitude?.(context),
    battery: fields.battery?.(context),
    attributes: attributes.length > 0 ? readAttributes(attributes, context) : null,
  }
}

/** Lists and objects are no attributes, and a longer text is none: a profile may read 1,000 positions with the same one. */
const MAX_ATTRIBUTE_CHARACTERS = 256

function readAttributes(attributes: Compiled['attributes'], context: Context): RawFix['attributes'] {
  const read: { [name: string]: unknown } = {}
  let isEmpty = true
  for (const [name, source] of attributes) {
    const value = source(context)
    if (value === undefined || typeof value === 'object') continue
    if (typeof value === 'string' && value.length > MAX_ATTRIBUTE_CHARACTERS) continue
    read[name] = value
    isEmpty = false
  }
  return isEmpty ? null : read
}
