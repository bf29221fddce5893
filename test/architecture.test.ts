import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')
/** Stairs only go down: a floor imports from itself and from the floors after it. */
const FLOORS = ['src', 'ingest', 'stream', 'db']

/**
 * Who may cross organizations (`db.system`, `db.autocommit`, `db.writing`): the writer, live, accounts (signing in,
 * switching, creating, inviting, registering, passwords, sessions), jobs, retention, and what reads points, newest
 * fixes and data records, whose queries take the organization as their first parameter.
 */
const SYSTEM = [
  'db/',
  'stream/writer.ts',
  'stream/freshness.ts',
  'stream/live/positions.ts',
  'ingest/authenticate.ts',
  'ingest/mqtt',
  'src/main.ts',
  'src/log.ts',
  'src/auth/',
  'src/organizations/',
  'src/users/',
  'src/jobs/',
  'src/plugins/',
  'src/health/',
  'src/upkeep.ts',
  'src/live/routes.ts',
  'src/location-history/',
  'src/devices/routes.ts',
  'src/data-types/',
  'src/data/',
]

function listFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => relative(ROOT, join(entry.parentPath, entry.name)))
}

const files = FLOORS.flatMap(listFiles).map(path => ({
  path,
  lines: readFileSync(join(ROOT, path), 'utf8').split('\n'),
}))

/** Places as `path:line: text`, so that a failure names what to mend. */
function find(test: (line: string, path: string) => boolean): string[] {
  return files.flatMap(({ path, lines }) =>
    lines.flatMap((line, index) => (test(line, path) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  )
}

describe('The house', () => {
  it('has stairs that only go down', () => {
    const climbing = find((line, path) => {
      const from = /from '(\.[^']+)'/.exec(line)?.[1]
      if (!from) return false
      const floor = relative(ROOT, resolve(ROOT, dirname(path), from)).split('/')[0] as string
      return FLOORS.indexOf(floor) < FLOORS.indexOf(path.split('/')[0] as string)
    })
    expect(climbing).toEqual([])
  })

  it('lets only a few files look across organizations', () => {
    const crossing = find(
      (line, path) =>
        /\.(system|autocommit|writing)\b|\boverRecords\(/.test(line) &&
        !SYSTEM.some(allowed => path.startsWith(allowed)),
    )
    expect(crossing).toEqual([])
  })

  it('reads the environment in one file', () => {
    const reading = find((line, path) => line.includes('process.env') && path !== 'src/config.ts')
    expect(reading.filter(place => !place.startsWith('src/commands/'))).toEqual([])
  })

  it('has rooms of at most 400 lines', () => {
    expect(files.filter(({ lines }) => lines.length > 400).map(({ path }) => path)).toEqual([])
  })

  it('has no folder for leftovers', () => {
    const names = /(^|\/)(helpers?|utils?|common|shared|services?|controllers?|repositor(y|ies)|misc|lib)\//
    expect(files.map(({ path }) => path).filter(path => names.test(path))).toEqual([])
  })
})
