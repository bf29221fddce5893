import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readRelease } from '../http/release.ts'
import { prepareSchema } from '../schema.ts'
import { backUp } from './backup-organization.ts'
import { operate, UsageError } from './command.ts'

const USAGE = 'npm run backup -- --organization <id> --to <file>'

// `npm run backup`: one organization with its points, records and files, as one archive (docs/backup.md).
const { values } = parseArgs({
  options: { organization: { type: 'string' }, to: { type: 'string' } },
  strict: false,
})
const { organization, to } = values as { organization?: string; to?: string }

await operate(
  'back up',
  async ({ config, db, logger }) => {
    await prepareSchema(db, logger)
    const path = resolve(String(to))
    if (existsSync(path)) throw new Error(`The file ${path} exists: name another one.`)
    const { version, commit } = readRelease()
    const counts = await backUp({
      ...{ driver: db.driver, dataDir: config.dataDir, organizationId: String(organization), to: path },
      release: `${version} (${commit})`,
    })
    return `${path} has ${counts.name}: ${counts.rows} rows, ${counts.points} of them points, and ${counts.files} files.`
  },
  () => {
    if (typeof organization !== 'string' || typeof to !== 'string') throw new UsageError(USAGE)
  },
)
