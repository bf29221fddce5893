import type { Field } from '../../../db/schema/flows.ts'
import { type Cell, isBlank } from '../../sheets/cell.ts'
import { headingsOf } from '../../sheets/headings.ts'
import { fold } from '../../sheets/values/fold.ts'
import { degreesOf } from '../../sheets/values/places.ts'

const LATITUDES =
  'latitude lat Breitengrad latitud latitudine breedtegraad breddegrad szerokość широта 纬度 緯度 위도'
const LONGITUDES =
  'longitude long lng lon Längengrad Laengengrad longitud longitudine lengtegraad längdgrad długość долгота 经度 經度 経度 경도'
const byLength = (words: string) =>
  words
    .split(' ')
    .map(fold)
    .sort((one, other) => other.length - one.length)
/** Names of latitudes and longitudes, folded; a name that begins with another one comes first. */
const WORDS = [
  ['lat', byLength(LATITUDES)],
  ['lng', byLength(LONGITUDES)],
] as const
/** Ambiguous names, such as a width and a length or a place on a plan: their columns must look like degrees. */
const UNSURE = new Map(
  ['Breite', 'y', 'Länge', 'Laenge', 'x'].map((name, at) => [fold(name), at < 2 ? 'lat' : 'lng']),
)
const ADDRESSES = new Set(['address', 'Adresse'].map(fold))

/** A longer heading is no usual name; a label has at most 200 characters. */
const MAX_NAME = 250

type Named = Pick<Field, 'key' | 'label'>

/** A column with its cells in the first rows below the header. */
interface Column {
  heading: string
  cells: readonly Cell[]
}

interface Pair {
  latitude: string
  longitude: string
  /** The common rest of both names, folded: `stop` of `stop_lat`. */
  rest: string
}

/**
 * Proposes columns of a latitude, a longitude and optionally an address for places: for the `fields` among `all` that
 * have no column yet, from the columns that are not mapped.
 */
export function proposePlaces(
  fields: readonly Named[],
  all: readonly Named[],
  columns: readonly Column[],
): { [key: string]: string[] } {
  const headings = columns
    .filter(({ heading }) => heading.length <= MAX_NAME)
    .map(({ heading }) => ({ heading, name: fold(heading) }))
  const sure = findPairs(headings, kindOf)
  const pairs =
    sure.length > 0 || fields.length > 1
      ? sure
      : findPairs(headings, unsureKindOf).filter(pair => looksLikeDegrees(pair, columns))
  const names = headingsOf(all)
  const chosen = new Map<Named, Pair>()
  for (const field of fields) {
    const own = new Set([fold(names.get(field.key) ?? ''), fold(field.label), fold(field.key)])
    const [pair, ...more] = pairs.filter(({ rest }) => rest !== '' && own.has(rest))
    if (pair && more.length === 0 && ![...chosen.values()].includes(pair)) chosen.set(field, pair)
  }
  const [field, ...others] = fields.filter(one => !chosen.has(one))
  const left = pairs.filter(pair => ![...chosen.values()].includes(pair))
  const plain = left.filter(({ rest }) => rest === '')
  const [pair, ...more] = plain.length > 0 ? plain : left
  if (field && others.length === 0 && pair && more.length === 0) chosen.set(field, pair)
  const isAddress = (name: string, rest: string) =>
    name.startsWith(rest) && ADDRESSES.has(name.slice(rest.length))
  return Object.fromEntries(
    [...chosen].map(([{ key }, { latitude, longitude, rest }]) => {
      const addresses = headings.filter(({ name }) => isAddress(name, rest)).map(({ heading }) => heading)
      return [key, [latitude, longitude, ...(addresses.length === 1 ? addresses : [])]]
    }),
  )
}

/** A heading, and its folded name. */
interface Heading {
  heading: string
  name: string
}

type Kind = { of: 'lat' | 'lng'; rest: string }

/** All ways to read a heading as a latitude or longitude: `stop_lat`, `Latitude (WGS84)`. */
function kindOf({ name }: Heading): Kind[] {
  const kinds = WORDS.flatMap(([of, words]) => {
    const [last, first] = [words.find(word => name.endsWith(word)), words.find(word => name.startsWith(word))]
    return [
      ...(last === undefined ? [] : [{ of, rest: name.slice(0, -last.length) }]),
      ...(first === undefined || first === last ? [] : [{ of, rest: name.slice(first.length) }]),
    ]
  })
  const whole = kinds.filter(({ rest }) => rest === '')
  return whole.length > 0 ? whole : kinds
}

/** Reads an ambiguous name, alone or after a sign or blank. */
function unsureKindOf({ heading, name }: Heading): Kind[] {
  const word =
    heading
      .normalize()
      .split(/[^\p{L}\p{N}]+/u)
      .at(-1) ?? ''
  if (word.length > 6) return []
  const of = UNSURE.get(fold(word)) as Kind['of'] | undefined
  return of === undefined ? [] : [{ of, rest: name.slice(0, -fold(word).length) }]
}

/** Pairs of a latitude and a longitude with the same rest of the name; none if a third heading has that rest too. */
function findPairs(headings: readonly Heading[], read: (heading: Heading) => Kind[]): Pair[] {
  const byRest = new Map<string, { lat: string[]; lng: string[] }>()
  for (const named of headings)
    for (const { of, rest } of read(named)) {
      const found = byRest.get(rest) ?? { lat: [], lng: [] }
      found[of].push(named.heading)
      byRest.set(rest, found)
    }
  return [...byRest].flatMap(([rest, { lat, lng }]) => {
    const [[latitude, otherLatitude], [longitude, otherLongitude]] = [lat, lng]
    return latitude !== undefined &&
      longitude !== undefined &&
      latitude !== longitude &&
      otherLatitude === undefined &&
      otherLongitude === undefined
      ? [{ latitude, longitude, rest }]
      : []
  })
}

/** Three decimals of a degree are about a hundred metres; values in other units hardly have as many. */
const isPrecise = (degrees: number) => /\.\d{3}/.test(String(degrees))

function looksLikeDegrees({ latitude, longitude }: Pair, columns: readonly Column[]): boolean {
  const cellsOf = (heading: string) => columns.find(one => one.heading === heading)?.cells ?? []
  const [latitudes, longitudes] = [cellsOf(latitude), cellsOf(longitude)]
  const rows = latitudes.map((cell, at) => [cell, longitudes[at] ?? null] as const)
  const filled = rows.filter(pair => !pair.every(isBlank))
  return (
    filled.length > 0 &&
    filled.every(([lat, lng]) => {
      const [y, x] = [degreesOf(lat), degreesOf(lng)]
      return (
        y !== null && x !== null && Math.abs(y) <= 90 && Math.abs(x) <= 180 && (isPrecise(y) || isPrecise(x))
      )
    })
  )
}
