import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Every hand-written file; recorded test data is not. */
const files = ['src', 'ingest', 'stream', 'db', 'fair', 'test'].flatMap(floor =>
  readdirSync(join(ROOT, floor), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter(path => !path.startsWith('test/data/')),
)

/** The steps of a walk: a file, and the pieces of it that the step shows. */
function readWalk(title: string): { path: string; shown: string[] }[] {
  const section = read('CONTRIBUTING.md').split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? ''
  const steps = section.match(/^\d+\. .*(?:\n {3}.*)*/gm) ?? []
  return steps.map(step => {
    const [path = '', ...shown] = [...step.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string)
    return { path, shown }
  })
}

const namedAfter = (name: string) => files.filter(path => new RegExp(`\\b${name}\\b`).test(path))
const texts = new Map<string, string>()
const textOf = (path: string) => {
  const text = texts.get(path) ?? read(path)
  texts.set(path, text)
  return text
}
const containing = (pattern: RegExp) =>
  files.filter(path => path !== 'test/contributing.test.ts' && pattern.test(textOf(path)))

/** Repeats the line or the block of hubs for roles. */
const addRoles = (text: string) =>
  text.replace(
    /^( *)hubs: (?:.*,|\{\n(?:\1 .*\n)*\1\},)\n/m,
    block => block + block.replace(/(?<!icon: ')\bhub(s?)\b/g, 'role$1'),
  )

/** The files of the console in which the compiler finds an error. From the second time on it checks what changed, and what that affects. */
const findErrors = (folder: string) =>
  new Promise<string[]>(done => {
    execFile(
      process.execPath,
      [
        ...[join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'console'],
        ...['--incremental', '--tsBuildInfoFile', join(folder, 'checked.tsbuildinfo')],
      ],
      { cwd: folder },
      (_error, output) => {
        const files = [...output.matchAll(/^(console\/[^(]+)\(/gm)].map(([, file]) => file as string)
        done([...new Set(files)].sort())
      },
    )
  })

describe('CONTRIBUTING.md', () => {
  it('lists every file that a resource has or is named in, and no other', () => {
    const touched = [
      ...namedAfter('hubs'),
      ...containing(/^CREATE TABLE hubs\b/m),
      ...containing(/from '.*\/hubs\/routes\.ts'/),
    ]
    expect(readWalk('Add a resource').map(({ path }) => path)).toHaveLength(7)
    expect(new Set(readWalk('Add a resource').map(({ path }) => path))).toEqual(new Set(touched))
  })

  it('lists every file that a format has or is named in, and no other', () => {
    const touched = [...namedAfter('owntracks'), ...containing(/from '.*\/owntracks\.ts'/)]
    expect(new Set(readWalk('Add an app’s format').map(({ path }) => path))).toEqual(new Set(touched))
  })

  it('lists every file that a measured value is named in, beside the formats that read or write it, and no other', () => {
    // Profiles of trackers are formats too, and devices are set up for them. Connections and sample data only show such values.
    const formats = /\/formats\/|\/profiles\/|tracker-profiles|devices\/setup|\/connections\b|\/company\//
    const touched = containing(/\baltitude\b/).filter(
      path => !/^(test|src\/commands)\//.test(path) && !formats.test(path),
    )
    const walk = readWalk('Add a value that devices measure').map(({ path }) => path)
    expect(walk).toHaveLength(6)
    expect(new Set(walk)).toEqual(new Set([...touched, 'docs/kafka.md']))
  })

  it('lists every file that the page of a resource needs: the compiler is content with all of them, and not before', async () => {
    const walk = readWalk('Add the page of a resource').map(({ path }) => path.replace('hubs', 'roles'))
    const copy = mkdtempSync(join(tmpdir(), 'console-'))
    try {
      cpSync(join(ROOT, 'console'), join(copy, 'console'), { recursive: true })
      cpSync(join(ROOT, 'tsconfig.json'), join(copy, 'tsconfig.json'))
      symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
      // Roles have a list in the API, but no page.
      const [page, ...others] = walk
        .filter(path => path.includes('roles'))
        .concat(walk.filter(path => !path.includes('roles')))
      expect(others).toHaveLength(4)
      writeFileSync(join(copy, page as string), read('console/pages/records/hubs.tsx'))
      for (const path of others) {
        writeFileSync(join(copy, path), addRoles(read(path)))
        const isWhole = path === others.at(-1)
        expect((await findErrors(copy)).length > 0, `after ${path}`).toBe(!isWhole)
      }
    } finally {
      rmSync(copy, { recursive: true })
    }
  })

  it.each([
    'Add a resource',
    'Add the page of a resource',
    'Add a value that devices measure',
    'Add an app’s format',
  ])('shows what stands in the files: %s', title => {
    for (const { path, shown } of readWalk(title)) {
      for (const piece of shown) expect(read(path), path).toContain(piece)
    }
  })
})
