import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** The inputs of strangers, and the test of each limit. */
const TABLE = readFileSync(join(import.meta.dirname, '../docs/security.md'), 'utf8')

it('Every bound in docs/security.md names a test that is there', () => {
  const rows = TABLE.split('\n').filter(line => /^\| (?!who|load|-)/.test(line) && !line.startsWith('|---'))
  expect(rows.length).toBeGreaterThan(40)
  const missing = rows.flatMap(row => {
    const names = [...(row.split('|').at(-2) ?? '').matchAll(/`([a-z/-]+)`/g)].map(
      ([, name]) => name as string,
    )
    if (names.length === 0) return [`${row}: names none`]
    return names.filter(name => !existsSync(join(import.meta.dirname, `${name}.test.ts`)))
  })
  expect(missing).toEqual([])
})
