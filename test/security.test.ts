import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** The inputs of strangers, and the test of each limit. */
const [TABLE = '', ASVS = ''] = readFileSync(join(import.meta.dirname, '../docs/security.md'), 'utf8').split(
  '## OWASP ASVS',
)
const namesIn = (text: string) =>
  [...text.matchAll(/`([a-z]+(?:[/-][a-z]+)*)`/g)].map(([, name]) => name as string)
const isThere = (name: string) => existsSync(join(import.meta.dirname, `${name}.test.ts`))

it('Every bound in docs/security.md names a test that is there', () => {
  const rows = TABLE.split('\n').filter(
    line => /^\| (?!who|load|what|-)/.test(line) && !line.startsWith('|---'),
  )
  expect(rows.length).toBeGreaterThan(40)
  const missing = rows.flatMap(row => {
    const names = [...(row.split('|').at(-2) ?? '').matchAll(/`([a-z][a-z\d/-]+)`/g)].map(
      ([, name]) => name as string,
    )
    if (names.length === 0) return [`${row}: names none`]
    return names.filter(name => !existsSync(join(import.meta.dirname, `${name}.test.ts`)))
  })
  expect(missing).toEqual([])
})

it('Every requirement of the ASVS names a test that is there, a document, or what is missing', () => {
  const rows = ASVS.split('\n').filter(line => /^\| \d/.test(line))
  expect(rows.length).toBeGreaterThan(70)
  const numbers = rows.map(row => row.split('|')[1]?.trim())
  expect(new Set(numbers).size).toBe(numbers.length)
  const unmet = rows.filter(row => {
    const how = row.split('|').at(-2) ?? ''
    const tests = namesIn(how).filter(name => name.includes('/') || isThere(name))
    if (tests.some(name => !isThere(name))) return true
    return tests.length === 0 && !/Gap: |Not applicable: |Documented: |Second factor|Single sign-on/.test(how)
  })
  expect(unmet).toEqual([])
})
