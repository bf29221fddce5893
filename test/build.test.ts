import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { templatePath } from '../db/drivers/pglite-template.ts'

const ROOT = resolve(import.meta.dirname, '..')

/** The checkout's own compiler and script on a small program. */
describe('A build', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fieldline-build-'))
    for (const name of [
      'package.json',
      'package-lock.json',
      'tsconfig.json',
      'tsconfig.build.json',
      'prune.mjs',
      'slim-postgis.mjs',
      'bundle.mjs',
    ])
      writeFileSync(join(folder, name), readFileSync(join(ROOT, name)))
    // The database and what it imports are the checkout's own, with its build: building that takes longer than everything else.
    for (const name of ['db', 'fair', 'dist/db'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true })
    mkdirSync(join(folder, 'src/parts'), { recursive: true })
    write('src/main.ts', `import { part } from './parts/part.ts'\nconsole.log(part)\n`)
    write('src/parts/part.ts', `export const part = 'the old one'\n`)
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    build()
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  const build = () => execFileSync('npm', ['run', '--silent', 'build:server'], { cwd: folder, stdio: 'pipe' })
  const run = () => execFileSync('node', ['dist/server/src/main.js'], { cwd: folder }).toString().trim()
  const writtenAt = (name: string) => statSync(join(folder, name)).mtimeMs

  it('of what is up to date writes nothing', () => {
    const template = join('dist/db/drivers', basename(templatePath()))
    const outputs = [
      'dist/src/main.js',
      'dist/src/parts/part.js',
      'dist/server/src/main.js',
      'dist/server/db/drivers/pglite-worker.js',
      'dist/db/drivers/postgis.tar.gz',
      template,
    ]
    const before = outputs.map(writtenAt)
    build()
    expect(outputs.map(writtenAt)).toEqual(before)
  })

  it('leaves nothing of a file that was moved, and finds it when it is back', () => {
    rmSync(join(folder, 'src/parts'), { recursive: true })
    write('src/part.ts', `export const part = 'the moved one'\n`)
    write('src/main.ts', `import { part } from './part.ts'\nconsole.log(part)\n`)
    build()
    expect(run()).toBe('the moved one')
    for (const name of ['part.js', 'part.js.map'])
      expect(existsSync(join(folder, 'dist/src/parts', name)), name).toBe(false)
    mkdirSync(join(folder, 'src/parts'))
    write('src/parts/part.ts', `export const part = 'the old one'\n`)
    write('src/main.ts', `import { part } from './parts/part.ts'\nconsole.log(part)\n`)
    build()
    expect(run()).toBe('the old one')
  })

  // The last one: it takes a part of the build away.
  it('makes a program that needs no other file of the build', () => {
    rmSync(join(folder, 'dist/src'), { recursive: true })
    expect(run()).toBe('the old one')
    const made = readdirSync(join(folder, 'dist/server'), { recursive: true, encoding: 'utf8' })
    const programs = made.filter(name => name.endsWith('.js')).sort()
    expect(programs).toEqual(['db/drivers/pglite-worker.js', 'src/main.js'])
  })
})

describe('Without development dependencies', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fieldline-without-'))
    for (const name of ['package.json', 'build.mjs'])
      writeFileSync(join(folder, name), readFileSync(join(ROOT, name)))
    mkdirSync(join(folder, 'node_modules/fastify'), { recursive: true })
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const npm = (...words: string[]) => spawnSync('npm', words, { cwd: folder, encoding: 'utf8' })

  it('a start says what to do where nothing was built, and an installation ends well', () => {
    const start = npm('start', '--silent')
    expect(start.status).toBe(1)
    expect(start.stderr).toMatch(/^Fieldline is not built, .*run `npm ci`[^\n]*\n$/)
    expect(npm('run', '--silent', 'prepare')).toMatchObject({ status: 0, stderr: start.stderr })
  })

  it('a start runs what was built', () => {
    for (const name of ['server/src/main.js', 'openapi.json', 'console/index.html']) {
      mkdirSync(join(folder, 'dist', name, '..'), { recursive: true })
      writeFileSync(join(folder, 'dist', name), `console.log('it runs')`)
    }
    const start = npm('start', '--silent')
    expect([start.status, start.stdout]).toEqual([0, 'it runs\n'])
    expect(npm('run', '--silent', 'prepare').stderr).toBe('')
  })
})
