import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { postgresMissing } from '../support/database.ts'

const missing = postgresMissing()

it('`npm run integrity` finds every acknowledged point, though the server and plain PostgreSQL are killed', async context => {
  if (missing) return context.skip(missing)
  const command = resolve(import.meta.dirname, 'run.ts')
  const options = '--tier one-machine --plain --rounds 2 --devices 4 --rate 200'.split(' ')
  // A run that finds a lost point exits with 1, and execFile throws.
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', command, ...options])
  expect(stdout.match(/then killed PostgreSQL/g)).toHaveLength(1)
  expect(stdout.match(/then killed the server/g)).toHaveLength(1)
  // A row of the report's table begins with its number and the count of acknowledged points.
  expect(Number(/│ 0 +│ (\d+) +│/.exec(stdout)?.[1])).toBeGreaterThan(200)
})
