import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')

/** What `npm test` says in CI of one file with these lines, where `begin()` counts its tries over all processes. */
function runFile(lines: string): Promise<{ code: number; said: string }> {
  const root = mkdtempSync(join(tmpdir(), 'fieldline-run-'))
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  writeFileSync(join(root, 'vitest.config.mjs'), 'export default { test: { isolate: false, retry: 1 } }')
  writeFileSync(
    join(root, 'one.test.mjs'),
    `import { mkdtempSync, readdirSync } from 'node:fs'
     import { beforeAll, expect, test } from 'vitest'
     let isNew = true
     const begin = () => { mkdtempSync('try-'); return readdirSync('.').filter(name => name.startsWith('try-')).length }
     ${lines}`,
  )
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, CI: '1', NO_COLOR: '1' }
  return new Promise(done => {
    execFile(process.execPath, [join(ROOT, 'test/run.mjs')], { cwd: root, env }, (error, stdout) => {
      rmSync(root, { recursive: true })
      done({ code: error ? Number(error.code) : 0, said: stdout })
    })
  })
}

test.each([
  [
    'a test whose first try dooms its second',
    `test('a name is free', () => {
       const tries = begin()
       expect(isNew).toBe(true)
       isNew = false
       expect(tries).toBeGreaterThan(1)
     })`,
  ],
  [
    'a hook, which has no second try',
    `beforeAll(() => expect(begin()).toBeGreaterThan(1))
     test('all is well', () => {})`,
  ],
])('In CI a file runs once more from the start where it fails for %s', async (_what, lines) => {
  const { code, said } = await runFile(lines)
  expect(said).toContain('Once more, from the start: one.test.mjs')
  expect(said).toContain('1 failed')
  expect(said).toContain('1 passed')
  expect(code).toBe(0)
})

test('In CI the run fails where the file fails once more', async () => {
  const { code, said } = await runFile(`test('never passes', () => expect(begin()).toBeLessThan(0))`)
  expect(said).toContain('Once more, from the start: one.test.mjs')
  expect(code).toBe(1)
})
