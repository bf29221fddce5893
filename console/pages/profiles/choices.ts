import type { components } from '../../api/interface.d.ts'

export type Choices = components['schemas']['TrackerChoices']
export type Source = components['schemas']['TrackerSource']
export type Condition = components['schemas']['TrackerCondition']
type Scalar = components['schemas']['TrackerValue']

/** The fields of a point, in the order of the form. */
export const FIELDS = [
  'lat',
  'lng',
  'timestamp',
  'speed',
  'heading',
  'accuracy',
  'altitude',
  'battery',
] as const
export type FieldName = (typeof FIELDS)[number]

/** Choices while they are made: latitude and longitude may be missing. */
export interface Draft extends Omit<Choices, 'fields'> {
  fields: Record<FieldName, Source | null>
}

const NO_FIELDS = Object.fromEntries(FIELDS.map(name => [name, null])) as Draft['fields']
export const EMPTY_DRAFT: Draft = {
  topic: '#',
  each: null,
  when: [],
  device: null,
  fields: NO_FIELDS,
  attributes: {},
}

export const toDraft = ({
  fields,
  ...rest
}: Omit<Choices, 'fields'> & { fields: Choices['fields'] | null }) =>
  ({
    topic: rest.topic,
    each: rest.each,
    when: rest.when,
    device: rest.device,
    attributes: rest.attributes,
    fields: { ...NO_FIELDS, ...fields },
  }) satisfies Draft

/** The choices as the interface takes them; null without a position. */
export function toChoices({ fields, ...rest }: Draft): Choices | null {
  const { lat, lng } = fields
  return lat && lng ? { ...rest, fields: { ...fields, lat, lng } } : null
}

export const sourceAt = (path: string, inner: string | null = null): Source => ({
  from: [path],
  json: inner === null ? null : { path: inner },
  split: null,
  unit: null,
  absent: [],
})

const COORDINATE = ['deg', 'deg1e5', 'deg1e6', 'deg1e7', 'rad'] as const
const LENGTH = ['m', 'cm', 'ft'] as const

/** The units of a field; the first is the one without a choice. A time without one is recognized by itself. */
export const UNITS = {
  lat: COORDINATE,
  lng: COORDINATE,
  timestamp: ['rfc3339', 's', 'ms'],
  speed: ['m/s', 'km/h', 'mph', 'kn', 'cm/s'],
  heading: ['deg', 'deg1e2', 'deg1e5', 'rad'],
  accuracy: LENGTH,
  altitude: LENGTH,
  battery: ['percent', 'fraction'],
} as const satisfies Record<FieldName, readonly string[]>

/** Reads a typed value: a number, true or false, else a text. */
export function readScalar(text: string): Scalar {
  const plain = text.trim()
  if (plain === 'true' || plain === 'false') return plain === 'true'
  return plain !== '' && Number.isFinite(Number(plain)) ? Number(plain) : plain
}

export const writeScalar = (value: unknown): string =>
  typeof value === 'string' ? value : String(value ?? '')

const MAX_ATTRIBUTES = 16
const MAX_CONDITIONS = 8

/** A name for an attribute that no other one has. */
export function addAttribute(draft: Draft, wanted: string, source: Source): Draft {
  const { attributes } = draft
  if (Object.keys(attributes).length >= MAX_ATTRIBUTES) return draft
  let name = wanted
  for (let n = 2; Object.hasOwn(attributes, name); n++) name = `${wanted} ${n}`
  return { ...draft, attributes: { ...attributes, [name]: source } }
}

export const addCondition = (draft: Draft, condition: Condition): Draft =>
  draft.when.length >= MAX_CONDITIONS ? draft : { ...draft, when: [...draft.when, condition] }

/** Chooses the list whose entries are positions; null for no list. Paths into its entries are rewritten to begin at an entry. */
export function setEach(draft: Draft, each: string | null): Draft {
  const before = draft.each
  const follow = (path: string) => {
    const whole = before === null ? path : path.replace(/^\$\.item(?=[.[]|$)/, () => `${before}[0]`)
    if (each === null || !whole.startsWith(`${each}[`)) return whole
    return `$.item${whole.slice(each.length).replace(/^\[\d+\]/, '')}`
  }
  const move = (source: Source | null) => source && { ...source, from: source.from.map(follow) }
  const moveAll = <T extends object>(sources: T): T =>
    Object.fromEntries(Object.entries(sources).map(([name, source]) => [name, move(source)])) as T
  return {
    ...draft,
    each,
    when: draft.when.map(one => ({ ...one, from: follow(one.from) })),
    device: move(draft.device),
    fields: moveAll(draft.fields),
    attributes: moveAll(draft.attributes),
  }
}
