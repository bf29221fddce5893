import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LOCKS } from '../db/locks.ts'

const ROOT = resolve(import.meta.dirname, '..')
/** Stairs only go down: a floor imports from itself and from the floors after it. */
const FLOORS = ['src', 'ingest', 'stream', 'db']
/** Beside the stairs: it knows the server through its public interface alone. */
const CONSOLE = 'console'
/** The roof has stairs as well: what every route shares knows no route. */
const ROOF = ['src/api', 'src/jobs', 'src/data', 'src/http']
/**
 * Who may cross organizations: the writer, live, accounts (signing in, switching, creating, inviting, registering,
 * passwords, sessions), jobs, retention, and what reads points, newest fixes, data records and lists of tasks,
 * whose queries take the organization as their first parameter.
 */
const CROSSING: readonly string[] = [
  'ingest/identity/watcher.ts',
  'ingest/last-seen.ts',
  'ingest/mqtt/credentials.ts',
  'src/api/auth/first-account.ts',
  'src/api/auth/routes.ts',
  'src/api/data-types/evolve.ts',
  'src/api/data-types/routes.ts',
  'src/api/data/export.ts',
  'src/api/data/find.ts',
  'src/api/data/routes.ts',
  'src/api/devices/routes.ts',
  'src/api/imports/receive.ts',
  'src/api/ingest/team.ts',
  'src/api/invitations/routes.ts',
  'src/api/live/viewers.ts',
  'src/api/location-history/routes.ts',
  'src/api/organizations/routes.ts',
  'src/api/registration/routes.ts',
  'src/api/schedules/present.ts',
  'src/api/tasks/export.ts',
  'src/api/tasks/routes.ts',
  'src/api/tasks/writes.ts',
  'src/api/tracking-links/routes.ts',
  'src/api/users/routes.ts',
  'src/http/plugins/authentication.ts',
  'src/http/plugins/idempotency.ts',
  'src/imports/job.ts',
  'src/jobs/geofences/run.ts',
  'src/jobs/runner.ts',
  'src/jobs/sample-records.ts',
  'src/jobs/schedules/run.ts',
  'src/jobs/upkeep.ts',
  'src/log.ts',
  'src/open.ts',
  'src/tasks/content.ts',
  'stream/live/positions.ts',
  'stream/tails.ts',
  'stream/writer.ts',
]

/**
 * Who asks this machine what time it is, in so many places: to compare it with the database's, to say how old a file is, which it
 * dated itself, or to name something. Everything that decides by the time of day asks `timeOfDay()` of `db/clock.ts`. How long
 * something takes is told by `performance.now()`: a clock that is put right must not hold up what waits.
 */
const TELLING_TIME: Readonly<Record<string, number>> = {
  'db/clock.ts': 3,
  'db/drivers/directory-lock.ts': 4,
  'db/drivers/first-lock.ts': 1,
  'db/ids.ts': 1,
  'src/imports/files.ts': 1,
  'src/jobs/exports/files.ts': 2,
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

/** Of types too: whoever reads a file reads what it knows. */
function readImports(path: string, lines: readonly string[]): Import[] {
  return lines.flatMap((text, index) =>
    [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, specifier]) => ({
      line: index + 1,
      target: relative(ROOT, resolve(ROOT, dirname(path), specifier as string)),
    })),
  )
}

/** Places as `path:line: text`, so that a failure names what to mend. */
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

/** The import circles, each as the files that lead back to its first. */
function findCircles(): string[] {
  const importsOf = new Map(sources.map(({ path, imports }) => [path, imports.map(({ target }) => target)]))
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' -> '))
    if (done.has(path) || way.includes(path)) return
    for (const target of importsOf.get(path) ?? []) visit(target, [...way, path])
    done.add(path)
  }
  for (const { path } of sources) visit(path, [])
  return circles
}

describe('The house', () => {
  it('has stairs that only go down', () => {
    const floorOf = (path: string) => FLOORS.indexOf(path.split('/')[0] as string)
    const isConsole = (path: string) => path.startsWith(`${CONSOLE}/`)
    expect(findImports((path, target) => isConsole(path) !== isConsole(target))).toEqual([])
    expect(findImports((path, target) => !isConsole(path) && floorOf(target) < floorOf(path))).toEqual([])
  })

  it('has no files that import each other in a circle', () => {
    expect(findCircles()).toEqual([])
    // Nothing is found where nothing is read.
    expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(500)
  })

  it('has a roof where what every route shares knows no route, and a job none either', () => {
    const storeyOf = (path: string) => ROOF.findIndex(folder => path.startsWith(`${folder}/`))
    const climbing = findImports((path, target) => {
      const [from, to] = [storeyOf(path), storeyOf(target)]
      return from !== -1 && to !== -1 && to < from
    })
    expect(climbing).toEqual([])
    const fromImports = findImports(
      (path, target) => path.startsWith('src/imports/') && target.startsWith('src/api/'),
    )
    expect(fromImports).toEqual([])
  })

  it('lets only these files look across organizations', () => {
    const crossing = find(line =>
      /\b(?:db|database)\.(system|signIn|writer)\b|\bacrossOrganizations\(/.test(line),
    )
    const files = new Set(crossing.map(place => place.split(':')[0] as string))
    expect([...files].filter(path => !path.startsWith('db/') && !CROSSING.includes(path))).toEqual([])
    expect(CROSSING.filter(path => !files.has(path))).toEqual([])
  })

  it('measures how long something takes by a clock that nobody sets', () => {
    const telling: Record<string, number> = {}
    const places = find(line => /\bDate\.now\(\)|\bnew Date\(\)/.test(line))
    for (const place of places.filter(place => !/^(console|src\/commands)\//.test(place))) {
      const path = place.split(':')[0] as string
      telling[path] = (telling[path] ?? 0) + 1
    }
    expect(telling).toEqual(TELLING_TIME)
    // And never tells by that clock what time it is: it begins with the process.
    const mistaken = find((line, path) => {
      const [, name] = /new Date\((\w+)\)/.exec(line) ?? []
      const text = readFileSync(join(ROOT, path), 'utf8')
      return name !== undefined && new RegExp(`\\b${name}\\b[^=\\n]*=.*performance\\.now\\(\\)`).test(text)
    })
    expect(mistaken).toEqual([])
  })

  it('has routes in files named routes.ts alone', () => {
    const registering = find(line => /^\s*(?:app|api|scope)\.(get|post|put|patch|delete|route)\(/.test(line))
    expect(registering.filter(place => !/^src\/api\/[a-z-]+\/routes\.ts:/.test(place))).toEqual([])
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
