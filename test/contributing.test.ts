import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Every file that is written by hand; what is sent to the tests is not. */
const files = ['src', 'ingest', 'stream', 'db', 'test'].flatMap(floor =>
  readdirSync(join(ROOT, floor), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter(path => !path.startsWith('test/data/')),
)

/** The steps of a walk: a file, and pieces of it that the step shows. */
function readWalk(title: string): { path: string; shown: string[] }[] {
  const section = read('CONTRIBUTING.md').split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? ''
  const steps = section.match(/^\d+\. .*(?:\n {3}.*)*/gm) ?? []
  return steps.map(step => {
    const [path = '', ...shown] = [...step.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string)
    return { path, shown }
  })
}

const namedAfter = (name: string) => files.filter(path => new RegExp(`\\b${name}\\b`).test(path))
const containing = (pattern: RegExp) =>
  files.filter(path => path !== 'test/contributing.test.ts' && pattern.test(read(path)))

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

  it.each(['Add a resource', 'Add an app’s format'])('shows what stands in the files: %s', title => {
    for (const { path, shown } of readWalk(title)) {
      for (const piece of shown) expect(read(path), path).toContain(piece)
    }
  })
})
