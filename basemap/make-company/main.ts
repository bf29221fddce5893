import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { createScheduler } from '../../fair/scheduler.ts'
import { openBasemap } from '../../src/basemap/open.ts'
import { OWN_ARCHIVE } from '../../src/basemap/setting.ts'
import { createPlaces } from '../../src/resources/places/describe.ts'
import { readRoutes } from '../../src/streets/routes.ts'
import { distanceM, findOn } from '../../src/streets/track.ts'

// Makes the places of the sample company: which routes begin at its depots, and customers at their stops, with the names
// that the archive has for their streets. They are the same each time.

const FILE = join(import.meta.dirname, '../sanfrancisco-company.json')
/** Each lies at a stop that many routes pass. */
const DEPOTS = [
  { name: 'Bayview depot', lat: 37.74022, lng: -122.39941 },
  { name: 'Richmond depot', lat: 37.7725, lng: -122.48581 },
  { name: 'Ingleside depot', lat: 37.73012, lng: -122.44019 },
]
const PASSES_WITHIN_M = 35
const CUSTOMERS_A_ROUTE = 2
/** Closer to a depot or to another customer is no customer. */
const APART_M = 300
/** A stop farther from a named street has no address. */
const STREET_WITHIN_M = 40
const TRADES = [
  ...[
    'Bakery',
    'Books',
    'Pharmacy',
    'Flowers',
    'Coffee',
    'Hardware',
    'Laundry',
    'Music School',
    'Print Shop',
    'Bicycles',
  ],
  ...[
    'Grocery',
    'Tailor',
    'Optician',
    'Gallery',
    'Toys',
    'Fish Market',
    'Barber',
    'Dental Practice',
    'Veterinary Clinic',
  ],
]

const routes = readRoutes()
const basemap = await openBasemap(
  { basemap: OWN_ARCHIVE, dataDir: '', basemapCacheMb: 0 },
  pino({ level: 'silent' }),
)
const places = createPlaces(basemap, createScheduler())
const taken = new Set<number>()
const known: { lat: number; lng: number }[] = [...DEPOTS]
const names = new Set<string>()
const customers: { name: string; address: string; lat: number; lng: number }[] = []

const addressOf = async (place: {
  lat: number
  lng: number
}): Promise<{ street: string; address: string } | null> => {
  const [found] = await places.describe([place], 'company')
  if (!found?.street || found.distance > STREET_WITHIN_M) return null
  return { street: found.street, address: [found.street, found.town].filter(Boolean).join(', ') }
}

const depots = []
for (const depot of DEPOTS) {
  const passing = routes.flatMap((route, number) =>
    !taken.has(number) && findOn(route, depot).metres <= PASSES_WITHIN_M ? [number] : [],
  )
  for (const number of passing) {
    taken.add(number)
    let left = CUSTOMERS_A_ROUTE
    for (const { from, isParked } of routes[number]?.legs ?? []) {
      if (left === 0 || !isParked || known.some(other => distanceM(other, from) < APART_M)) continue
      const place = await addressOf(from)
      const trade = TRADES[customers.length % TRADES.length] as string
      if (!place || names.has(`${place.street} ${trade}`)) continue
      names.add(`${place.street} ${trade}`)
      known.push(from)
      customers.push({
        name: `${place.street} ${trade}`,
        address: place.address,
        lat: from.lat,
        lng: from.lng,
      })
      left--
    }
  }
  depots.push({ ...depot, address: (await addressOf(depot))?.address ?? null, routes: passing })
}
await basemap.close()
writeFileSync(FILE, `${JSON.stringify({ depots, customers }, null, 1)}\n`)
process.stdout.write(`${taken.size} routes, ${customers.length} customers.\n`)
