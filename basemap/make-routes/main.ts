import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createRandom } from '../../src/streets/random.ts'
import { buildGraph } from './graph.ts'
import { planRoutes } from './plan.ts'
import { readRoads } from './roads.ts'
import { stitch } from './stitch.ts'
import { writeRoute } from './write.ts'

// Makes the routes of `npm run simulate` from the roads of the archive. They are the same each time.

const FOLDER = join(import.meta.dirname, '..')
const ROUTES = 160
const SEED = 1906

const random = createRandom(SEED)
const { pieces, toDegrees } = await readRoads(join(FOLDER, 'sanfrancisco.pmtiles'))
const roads = stitch(pieces)
const graph = buildGraph(roads)
const routes = planRoutes(graph, ROUTES, random)
const lines = routes.map(route => JSON.stringify(writeRoute(route, graph, toDegrees, random)))
const file = gzipSync(`${lines.join('\n')}\n`, { level: 9 })
writeFileSync(join(FOLDER, 'sanfrancisco-routes.ndjson.gz'), file)

const edges = new Set(graph.leaving.flat())
const driven = new Set(routes.flatMap(route => route.edges))
const km = (all: Iterable<{ metres: number }>) =>
  Math.round([...all].reduce((sum, { metres }) => sum + metres, 0) / 1000)
process.stdout.write(
  `${roads.length} roads, ${graph.leaving.filter(({ length }) => length > 0).length} crossings, ${km(edges)} km of lanes; ` +
    `${routes.length} routes on ${km(driven)} km of them, ${km(routes.flatMap(route => route.edges))} km long, ${file.length} bytes.\n`,
)
