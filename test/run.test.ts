import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')

/** Runs `npm test` on one file of these lines, with a cache of its own. */
function runFile(lines: string, env: Record<string, string> = {}): Promise<{ code: number; said: string }> {
  const root = mkdtempSync(join(tmpdir(), 'fieldline-run-'))
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  writeFileSync(
    join(root, 'vitest.config.mjs'),
    `export default { test: { isolate: false, reporters: ['${join(ROOT, 'test/support/run-reporter.ts')}'] } }`,
  )
  writeFileSync(join(root, 'one.test.mjs'), `import { expect, test } from 'vitest'\n${lines}`)
  const { PATH, HOME } = process.env
  return new Promise(done => {
    execFile(
      process.execPath,
      [join(ROOT, 'test/run.mjs')],
      { cwd: root, env: { PATH, HOME, NO_COLOR: '1', FIELDLINE_CACHE: root, ...env } },
      (error, stdout) => {
        rmSync(root, { recursive: true })
        done({ code: error ? Number(error.code) : 0, said: stdout })
      },
    )
  })
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
    test('needs nothing', () => {})`
  const usual = await runFile(lines)
  expect(usual.code).toBe(0)
  expect(usual.said).toContain('Skipped, 1: There is no Java\n  one.test.mjs: needs a broker')
  expect(usual.said).toMatch(/^Tests: 1 passed, 0 failed, 1 skipped$/m)
  const strict = await runFile(lines, { REQUIRE_SERVICES: '1' })
  expect(strict.code).toBe(1)
  expect(strict.said).toContain('REQUIRE_SERVICES=1 lets no test be skipped.')
})
