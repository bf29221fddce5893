import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LOCKS } from '../db/locks.ts'

const ROOT = resolve(import.meta.dirname, '..')
/** Stairs only go down: a floor imports from itself and from the floors after it. */
const FLOORS = ['src', 'ingest', 'stream', 'db', 'fair']
/** The pages are not one of the floors: they use only the server's public interface. */
const CONSOLE = 'console'
/**
 * The console's own floors from the top down: a folder, or a file that lies in console/ itself. Three pages are opened by a
 * browser: the console (main.tsx, routes.tsx), a tracking link (track) and the API reference (reference).
 */
const CONSOLE_FLOORS = [
  'main.tsx',
  'routes.tsx',
  'track',
  'reference',
  'pages',
  'shell',
  'live',
  'map',
  'parts',
  'texts',
  'api',
  'session.ts',
  'kept-sessions.ts',
  'organization-address.ts',
  'preferences.ts',
  'storage.ts',
  'paths.ts',
  'urls.ts',
  'kinds.ts',
  'clock.ts',
]
/** The roof has stairs as well: neither the runner of jobs, nor spreadsheets, nor the parts that all routes share know a resource. */
const ROOF = [
  'src/resources',
  'src/mail',
  'src/jobs',
  'src/sheets',
  'src/http',
  'src/calendar',
  'src/streets',
  'src/basemap',
]
/** The files of the roof itself, which put the resources together. A resource knows none of them but these. */
const KNOWN_TO_ALL = ['src/config.ts', 'src/services.ts']
/**
 * Files that may cross organizations: the writer, live, accounts (signing in, switching, creating, inviting,
 * registering, passwords, sessions), jobs, retention, and queries of points, newest fixes, data records and lists of
 * tasks, which take the organization as their first parameter.
 */
const CROSSING: readonly string[] = [
  'ingest/connections/adoption.ts',
  'ingest/connections/broker/holders.ts',
  'ingest/identity/watcher.ts',
  'ingest/last-seen.ts',
  'ingest/mqtt/commands.ts',
  'ingest/mqtt/credentials.ts',
  'ingest/mqtt/devices-of-keys.ts',
  'ingest/profiles/profiles.ts',
  'ingest/traces.ts',
  'src/app.ts',
  'src/http/plugins/authentication.ts',
  'src/http/plugins/idempotency.ts',
  'src/jobs/runner.ts',
  'src/log.ts',
  'src/open.ts',
  'src/operate/move.ts',
  'src/operate/restore.ts',
  'src/resources/audit-log/routes.ts',
  'src/resources/auth/first-account.ts',
  'src/resources/auth/routes.ts',
  'src/resources/basemap/routes.ts',
  'src/resources/data-types/evolve.ts',
  'src/resources/data-types/routes.ts',
  'src/resources/data/export.ts',
  'src/resources/data/routes.ts',
  'src/resources/devices/routes.ts',
  'src/resources/forgotten-passwords/routes.ts',
  'src/resources/geofence-events/run.ts',
  'src/resources/health-history/routes.ts',
  'src/resources/imports/job.ts',
  'src/resources/imports/receive.ts',
  'src/resources/imports/undo.ts',
  'src/resources/ingest/team.ts',
  'src/resources/invitations/mail.ts',
  'src/resources/invitations/routes.ts',
  'src/resources/live/viewers.ts',
  'src/resources/location-history/routes.ts',
  'src/resources/organizations/company/job.ts',
  'src/resources/organizations/company/records.ts',
  'src/resources/organizations/routes.ts',
  'src/resources/organizations/sample-records.ts',
  'src/resources/organizations/sample-removal.ts',
  'src/resources/registration/routes.ts',
  'src/resources/schedules/job.ts',
  'src/resources/schedules/present.ts',
  'src/resources/second-factor/routes.ts',
  'src/resources/single-sign-on/routes.ts',
  'src/resources/tasks/content.ts',
  'src/resources/tasks/export.ts',
  'src/resources/tasks/routes.ts',
  'src/resources/tasks/writes.ts',
  'src/resources/tracking-links/routes.ts',
  'src/resources/users/routes.ts',
  'src/schema.ts',
  'src/upkeep.ts',
  'stream/live/positions.ts',
  'stream/store/insert.ts',
  'stream/store/tails.ts',
  'stream/writer.ts',
]

/**
 * Files that may read this machine's clock, with the number of places: to compare it with the database's, to compute
 * the age of a file that they dated themselves, or to name something. Every decision by the time of day uses
 * `timeOfDay()` of `db/clock.ts`. Durations use `performance.now()`: correcting the clock must not delay anything that
 * waits.
 */
const TELLING_TIME: Readonly<Record<string, number>> = {
  'db/clock.ts': 3,
  'db/drivers/directory-lock.ts': 4,
  'db/drivers/first-lock.ts': 1,
  'db/ids.ts': 1,
  'src/basemap/keeping.ts': 1,
  'src/basemap/kept-tiles.ts': 1,
  'src/resources/exports/files.ts': 2,
  'src/resources/imports/files.ts': 1,
}

interface Import {
  line: number
  target: string
}
interface Source {
  path: string
  lines: string[]
  imports: Import[]
}

const sources: Source[] = [...FLOORS, CONSOLE].flatMap(floor =>
  readdirSync(join(ROOT, floor), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
    .map(entry => {
      const path = relative(ROOT, join(entry.parentPath, entry.name))
      const lines = readFileSync(join(ROOT, path), 'utf8').split('\n')
      return { path, lines, imports: readImports(path, lines) }
    }),
)

/** Includes imports of types: a reader of the file has to know them as well. */
function readImports(path: string, lines: readonly string[]): Import[] {
  return lines.flatMap((text, index) =>
    [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, specifier]) => ({
      line: index + 1,
      target: relative(ROOT, resolve(ROOT, dirname(path), specifier as string)),
    })),
  )
}

/** Places as `path:line: text`, so that a failure names the line to correct. */
function find(test: (line: string, path: string) => boolean): string[] {
  return sources.flatMap(({ path, lines }) =>
    lines.flatMap((line, index) => (test(line, path) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  )
}

function findImports(test: (path: string, target: string) => boolean): string[] {
  return sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ target }) => test(path, target))
      .map(({ line, target }) => `${path}:${line}: imports ${target}`),
  )
}

describe('The house', () => {
  it('has stairs that only go down', () => {
    const floorOf = (path: string) => FLOORS.indexOf(path.split('/')[0] as string)
    const isConsole = (path: string) => path.startsWith(`${CONSOLE}/`)
    expect(findImports((path, target) => isConsole(path) !== isConsole(target))).toEqual([])
    expect(findImports((path, target) => !isConsole(path) && floorOf(target) < floorOf(path))).toEqual([])
    // Guards against a check that reads no imports. Biome finds circles (noImportCycles).
    expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(500)
  })

  it('has a roof whose stairs only go down as well', () => {
    const storeyOf = (path: string) => ROOF.findIndex(folder => path.startsWith(`${folder}/`))
    const climbing = findImports((path, target) => {
      const [from, to] = [storeyOf(path), storeyOf(target)]
      return from !== -1 && to !== -1 && to < from
    })
    expect(climbing).toEqual([])
    const isTop = (path: string) => /^src\/[^/]+$/.test(path)
    const reachingUp = findImports(
      (path, target) => storeyOf(path) !== -1 && isTop(target) && !KNOWN_TO_ALL.includes(target),
    )
    expect(reachingUp).toEqual([])
    expect(sources.filter(({ path }) => storeyOf(path) !== -1).length).toBeGreaterThan(200)
  })

  it('has a console whose floors only go down as well', () => {
    const nameOf = (path: string) => path.split('/')[1] as string
    const floorOf = (path: string) => CONSOLE_FLOORS.indexOf(nameOf(path))
    // Style sheets and the scripts of the build belong to no floor.
    const beside = ['styles', 'build']
    const ours = sources.filter(
      ({ path }) => path.startsWith(`${CONSOLE}/`) && !beside.includes(nameOf(path)),
    )
    expect(ours.filter(({ path }) => floorOf(path) === -1).map(({ path }) => path)).toEqual([])
    expect(CONSOLE_FLOORS.filter(name => !ours.some(({ path }) => nameOf(path) === name))).toEqual([])
    const paths = new Set(ours.map(({ path }) => path))
    expect(
      findImports((path, target) => paths.has(path) && paths.has(target) && floorOf(target) < floorOf(path)),
    ).toEqual([])
  })

  it('lets only these files look across organizations', () => {
    const crossing = find(line =>
      /\b(?:db|database)\.(system|signIn|writer)\b|\bacrossOrganizations\(/.test(line),
    )
    const files = new Set(crossing.map(place => place.split(':')[0] as string))
    expect([...files].filter(path => !path.startsWith('db/') && !CROSSING.includes(path))).toEqual([])
    expect(CROSSING.filter(path => !files.has(path))).toEqual([])
  })

  it('asks which database it has in one file above the database', () => {
    const asking = find((line, path) => /\bisOneSession\b/.test(line) && !path.startsWith('db/'))
    expect(new Set(asking.map(place => place.split(':')[0]))).toEqual(new Set(['src/log.ts']))
  })

  it('spells the rule of hubs in one file', () => {
    const spelt = find(line => /hub(_id)?\}? IS NULL OR/i.test(line))
    expect(new Set(spelt.map(place => place.split(':')[0]))).toEqual(new Set(['db/hub-rule.ts']))
  })

  it('measures how long something takes by a clock that nobody sets', () => {
    const telling: Record<string, number> = {}
    const places = find(line => /\bDate\.now\(\)|\bnew Date\(\)/.test(line))
    for (const place of places.filter(place => !/^(console|src\/commands)\//.test(place))) {
      const path = place.split(':')[0] as string
      telling[path] = (telling[path] ?? 0) + 1
    }
    expect(telling).toEqual(TELLING_TIME)
    // And it is never used as the time of day: it begins with the process.
    const mistaken = find((line, path) => {
      const [, name] = /new Date\((\w+)\)/.exec(line) ?? []
      if (name === undefined) return false
      const text = readFileSync(join(ROOT, path), 'utf8')
      return new RegExp(`\\b${name}\\b[^=\\n]*=.*performance\\.now\\(\\)`).test(text)
    })
    expect(mistaken).toEqual([])
  })

  it('has routes in files named routes.ts alone', () => {
    const registering = find(line => /^\s*(?:app|api|scope)\.(get|post|put|patch|delete|route)\(/.test(line))
    expect(registering.filter(place => !/^src\/resources\/[a-z-]+\/routes\.ts:/.test(place))).toEqual([])
    expect(registering.length).toBeGreaterThan(80)
  })

  it('reads the environment in one file', () => {
    const reading = find((line, path) => line.includes('process.env') && path !== 'src/config.ts')
    expect(reading.filter(place => !place.startsWith('src/commands/'))).toEqual([])
  })

  it('reads what a browser keeps in one file, which takes nothing that does not fit', () => {
    const reading = find(line => /\b(local|session)Storage\b/.test(line))
    expect(new Set(reading.map(place => place.split(':')[0]))).toEqual(new Set(['console/storage.ts']))
  })

  it('gives a class its looks in one style sheet: those of all opened pages apply together', () => {
    const folder = join(ROOT, 'console/styles')
    // Paper adds to the looks of the others; the page of a tracking link loads none of them.
    const sheets = readdirSync(folder).filter(name => name !== 'print.css' && name !== 'track.css')
    const places = new Map<string, string[]>()
    for (const sheet of sheets)
      for (const [, name = ''] of readFileSync(join(folder, sheet), 'utf8').matchAll(
        /^ {2}\.([a-z][\w-]*) \{/gm,
      ))
        places.set(name, [...(places.get(name) ?? []), sheet])
    expect(places.size).toBeGreaterThan(100)
    expect([...places].filter(([, found]) => new Set(found).size > 1)).toEqual([])
  })

  it('puts every rule of a style sheet that a page brings along into a layer, so that no order of loading counts', () => {
    const sheets = sources.flatMap(({ path, lines }) =>
      path.startsWith('console/') && path !== 'console/main.tsx'
        ? lines.flatMap(line => /styles\/([\w-]+\.css)'/.exec(line)?.[1] ?? [])
        : [],
    )
    // A rule about a library's classes stands beside that library's own rules, which are in no layer.
    const isLayered = (rule: string) => /^@layer| layer\(|\.(u|maplibregl)-/.test(rule)
    const loose = [...new Set(sheets)].flatMap(sheet =>
      [...readFileSync(join(ROOT, 'console/styles', sheet), 'utf8').matchAll(/^[^\s/}*].*[{,;]$/gm)]
        .map(([rule]) => `${sheet}: ${rule}`)
        .filter(rule => !isLayered(rule.slice(sheet.length + 2))),
    )
    expect(new Set(sheets).size).toBeGreaterThan(15)
    expect(loose).toEqual([])
  })

  it('lists every advisory lock in one file, each with a number of its own', () => {
    expect(find((line, path) => line.includes('pg_advisory') && path !== 'db/locks.ts')).toEqual([])
    const numbers = Object.values(LOCKS)
    expect(new Set(numbers).size).toBe(numbers.length)
  })

  it('has rooms of at most 400 lines, and tests too', () => {
    const tests = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .map(name => ({
        path: `test/${name}`,
        lines: readFileSync(join(ROOT, 'test', name), 'utf8').split('\n'),
      }))
    expect(tests.length).toBeGreaterThan(100)
    expect([...sources, ...tests].filter(({ lines }) => lines.length > 400).map(({ path }) => path)).toEqual(
      [],
    )
  })

  it('has no folder for leftovers', () => {
    const names = /(^|\/)(helpers?|utils?|common|shared|services?|controllers?|repositor(y|ies)|misc|lib)\//
    expect(sources.map(({ path }) => path).filter(path => names.test(path))).toEqual([])
  })
})
