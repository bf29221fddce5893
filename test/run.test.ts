import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')

/** A project with these files, by their paths, and a cache of its own. */
function createProject(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'fieldline-run-'))
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  const setups = Object.keys(files).filter(path => path === 'setup.mjs')
  writeFileSync(
    join(root, 'vitest.config.mjs'),
    `export default { test: { isolate: false, maxWorkers: 1, globalSetup: ${JSON.stringify(setups)}, reporters: ['${join(ROOT, 'test/support/run-reporter.ts')}'] } }`,
  )
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

interface Run {
  code: number
  said: string
}

/** `npm test` there. */
function runTests(root: string, words: string[] = [], env: Record<string, string> = {}): Promise<Run> {
  const { PATH, HOME } = process.env
  return new Promise(done => {
    execFile(
      process.execPath,
      [join(ROOT, 'test/run.mjs'), ...words],
      { cwd: root, env: { PATH, HOME, NO_COLOR: '1', FIELDLINE_CACHE: root, ...env } },
      (error, stdout) => done({ code: error ? Number(error.code) : 0, said: stdout }),
    )
  })
}

const IMPORT_TEST = "import { expect, test } from 'vitest'\n"

async function runFile(lines: string, env: Record<string, string> = {}): Promise<Run> {
  const root = createProject({ 'one.test.mjs': IMPORT_TEST + lines })
  const run = await runTests(root, [], env)
  rmSync(root, { recursive: true })
  return run
}

test('A test that fails is tried once, fails the run in CI too, and is named with the command that runs it alone', async () => {
  const lines = `let tries = 0
    test("it's 1 (one)", () => expect(++tries).toBe(2))`
  const { code, said } = await runFile(lines, { CI: 'true' })
  expect(code).toBe(1)
  expect(said).toContain(String.raw`npm test -- one.test.mjs -t 'it'\''s 1 \(one\)'`)
  expect(said).toMatch(/^Tests: 0 passed, 1 failed, 0 skipped$/m)
})

test('A test that is skipped is named with its reason, and fails the run where every service has to be there', async () => {
  const lines = `test('needs a broker', context => context.skip('There is no Java'))
    test('needs nothing', ({ task }) => {
      task.file.meta.logSearch = { servers: 1, findings: [] }
    })`
  const usual = await runFile(lines)
  expect(usual.code).toBe(0)
  expect(usual.said).toContain('Skipped, 1: There is no Java\n  one.test.mjs: needs a broker')
  expect(usual.said).toMatch(/^Tests: 1 passed, 0 failed, 1 skipped$/m)
  const strict = await runFile(lines, { REQUIRE_SERVICES: '1' })
  expect(strict.code).toBe(1)
  expect(strict.said).toContain('REQUIRE_SERVICES=1 lets no test be skipped.')
})

test('A long file that passed is left out by name until something changes that it depends on', async () => {
  const root = createProject({
    'test/integrity/kept.test.ts': `${IMPORT_TEST}import './support/load.ts'\ntest('is kept', () => {})`,
    'test/integrity/lost.test.ts': `${IMPORT_TEST}test('is kept', () => expect(1).toBe(2))`,
    'test/integrity/support/load.ts': '',
    'db/one.ts': '',
    'console/one.ts': '',
  })
  const tests = async (words: string[] = [], env: Record<string, string> = {}) =>
    (await runTests(root, words, env)).said
  expect(await tests()).toContain('Tests: 1 passed, 1 failed')
  writeFileSync(join(root, 'console/one.ts'), '// no part of the server')
  const second = await tests()
  expect(second).toContain('Tests: 0 passed, 1 failed')
  expect(second).toMatch(/^Not run, .*\n {2}test\/integrity\/kept.test.ts$/m)
  for (const asked of [tests(['--all']), tests(['kept', 'lost']), tests([], { CI: '1' })])
    expect(await asked).toContain('Tests: 1 passed, 1 failed')
  for (const path of ['db/one.ts', 'test/integrity/support/load.ts']) {
    writeFileSync(join(root, path), '// changed')
    expect(await tests(), path).toContain('Tests: 1 passed, 1 failed')
  }
  rmSync(root, { recursive: true })
})

test('Without PostgreSQL a whole run leaves out by name the files that need it', async () => {
  const root = createProject({
    'setup.mjs': "export default project => project.provide('postgres', { reason: 'nobody is root' })",
    'needs.test.mjs': `${IMPORT_TEST}const useOrganization = () => {}
      test('is asked for', () => useOrganization())`,
    'free.test.mjs': `${IMPORT_TEST}test('needs nothing', () => {})`,
  })
  const tests = async (words: string[] = []) => (await runTests(root, words)).said
  const usual = await tests()
  expect(usual).toMatch(/^Not run, because there is no PostgreSQL: nobody is root .*\n {2}needs.test.mjs$/m)
  expect(usual).toContain('Tests: 1 passed, 0 failed')
  for (const words of [['--all'], ['needs', 'free']]) expect(await tests(words)).toContain('Tests: 2 passed')
  rmSync(root, { recursive: true })
})

test('What a log of a server holds that no log may hold is printed, and fails the run', async () => {
  const findings = ['a token of a session: {"msg":"…"}']
  const { code, said } = await runFile(`test('passes', ({ task }) => {
    task.file.meta.logSearch = { servers: 1, findings: ${JSON.stringify(findings)} }
  })`)
  expect(said).toContain('one.test.mjs: a token of a session')
  expect(said).toMatch(/^Tests: 1 passed, 0 failed/m)
  expect(code).toBe(1)
})
