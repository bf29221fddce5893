import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { isAway, isDuplicate, overCap } from '../../db/errors.ts'
import { prepareSchema } from '../schema.ts'
import { ArchiveError } from './archive.ts'
import { operate, UsageError } from './command.ts'
import { type Restored, restore } from './restore-organization.ts'
import { listClosedSecrets } from './sealed.ts'

const USAGE = 'npm run restore -- --from <file>'

// `npm run restore`: stores an organization from its archive (docs/backup.md).
const { values } = parseArgs({ options: { from: { type: 'string' } }, strict: false })
const { from } = values as { from?: string }

await operate(
  'restore',
  async ({ config, db, logger }) => {
    const path = resolve(String(from))
    await prepareSchema(db, logger)
    const restored = await restore({ db, dataDir: config.dataDir, from: path }).catch(error => {
      throw explain(error, path)
    })
    const closed = await listClosedSecrets(db.system, restored.header.organization.id, config.jwtSecret)
    return describe(restored, closed)
  },
  () => {
    if (typeof from !== 'string') throw new UsageError(USAGE)
  },
)

function explain(error: unknown, path: string): unknown {
  if (error instanceof ArchiveError) return new Error(`${path}: ${error.message}`, { cause: error })
  if (isAway(error)) return error
  const cap = overCap(error)
  if (cap) return new Error(`${cap} Raise it for this database (docs/backup.md), then restore again.`)
  if (isDuplicate(error)) {
    const { table } = error as { table?: string }
    const where = table ? ` in ${table}` : ''
    return new Error(
      `Something of this organization is in the database already${where}, so nothing was stored.`,
    )
  }
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR'
    ? new Error(`The file ${path} cannot be read (${code}).`)
    : error
}

function describe({ header, rows, files, known }: Restored, closed: string[]): string {
  const lines = [
    `${header.organization.name} is restored as it was at ${header.at}: ${rows} rows and ${files} files.`,
  ]
  if (known.length > 0)
    lines.push(
      `These had an account here, and sign in with the password that they have here: ${known.join(', ')}.`,
    )
  if (closed.length > 0) {
    lines.push(
      `These secrets were sealed with another JWT_SECRET: ${closed.join(', ')}. Add that one to JWT_SECRETS, after your own ` +
        '(JWT_SECRETS=yours,that), and they open and are sealed anew within 10 minutes; or enter them again.',
    )
  }
  // Names in it may have characters that a terminal obeys.
  return lines.map(line => line.replace(/\p{C}/gu, ' ')).join('\n')
}
