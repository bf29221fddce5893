import { checkAddress, splitUrl } from '../../db/drivers/postgres-hosts.ts'
import { readEncryption } from '../../db/drivers/postgres-tls.ts'
import { keepFaultless, type Secret } from '../../db/secret.ts'
import type { Reader } from './reader.ts'

/** The addresses of PostgreSQL; undefined means the embedded database. */
export function readDatabaseUrls(read: Reader): {
  databaseUrl: Secret | undefined
  databaseDirectUrl: Secret | undefined
} {
  const databaseUrl = readDatabaseUrl(read, 'DATABASE_URL')
  const direct = readDatabaseUrl(read, 'DATABASE_DIRECT_URL')
  if (direct && read.env.DATABASE_URL === undefined && read.env.DATABASE_URL_FILE === undefined)
    read.problems.push('DATABASE_DIRECT_URL requires DATABASE_URL')
  return { databaseUrl, databaseDirectUrl: direct ?? databaseUrl }
}

/** An address has a password, so no problem shows it. */
function readDatabaseUrl(read: Reader, name: string): Secret | undefined {
  const secret = read.secret(name)
  if (!secret) return undefined
  const fault = faultOf(secret.current)
  if (fault) read.problems.push(`${name} ${fault}`)
  return keepFaultless(secret, faultOf, fault => read.ignore(name, fault))
}

function faultOf(address: string): string | null {
  if (!/^postgres(ql)?:\/\//.test(address)) return 'has to start with postgres:// or postgresql://'
  try {
    for (const url of splitUrl(address)) {
      const { url: rest, attempts } = readEncryption(url)
      checkAddress(rest)
      for (const read of attempts) read()
    }
    return null
  } catch (error) {
    const { code, path, message } = error as NodeJS.ErrnoException
    return path === undefined ? message : `names ${path}, which cannot be read (${code})`
  }
}
