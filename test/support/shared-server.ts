import pg from 'pg'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type Client, signIn } from './client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from './database.ts'
import { addOrganization, addPerson, type Organization } from './people.ts'
import { isRunning, openServer, type Server } from './server.ts'

/** Modules live as long as their worker, which runs one test file after the other. */
let shared: { server: Server; database: TestDatabase } | undefined

/**
 * A separate organization for the test file, and an account that owns it, on a server and a database that all such
 * files of a worker share. If a test fails, or ends the server, the server ends with its file: the next file starts a
 * new one.
 */
export function useOrganization(): {
  server: Server
  database: TestDatabase
  owner: Client
  organization: Organization
} {
  // Filled later, so that a file names them once and before anything runs.
  const server = {} as Server
  const database = {} as TestDatabase
  const owner = {} as Client
  const organization = {} as Organization
  let hasFailed = true

  beforeAll(async () => {
    shared ??= await start()
    await forgetFailures(shared.database)
    Object.assign(server, shared.server)
    Object.assign(database, shared.database)
    const { client } = await addPerson(server, await signIn(server), { role: 'Admin' })
    Object.assign(organization, await addOrganization(server, client))
    Object.assign(owner, organization.client)
    hasFailed = false
  })
  afterEach(({ task }) => {
    hasFailed ||= task.result?.state === 'fail'
  })
  afterAll(async () => {
    const hasEnded = shared !== undefined && !isRunning(shared.server)
    if (hasFailed || hasEnded) await end()
    if (hasEnded)
      throw new Error(`The shared server ended in this file\n${server.output.stderr.slice(-4_000)}`)
  })
  return { server, database, owner, organization }
}

async function start(): Promise<{ server: Server; database: TestDatabase }> {
  const database = await createTestDatabase(usualKind())
  const server = await openServer(database)
  process.once('SIGTERM', endWithWorker)
  return { server, database }
}

/** All files sign in from one address, which a hundred wrong passwords lock. */
async function forgetFailures({ url }: TestDatabase): Promise<void> {
  if (!url) return
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('DELETE FROM login_failures')
  await client.end()
}

async function end(): Promise<void> {
  const ending = shared
  shared = undefined
  process.off('SIGTERM', endWithWorker)
  await ending?.server.stop()
  await ending?.database.remove()
}

/**
 * vitest ends a worker with SIGTERM, and half a second later with SIGKILL: too soon to close a server, which ends with
 * its process.
 */
async function endWithWorker(): Promise<void> {
  await shared?.database.remove()
  process.kill(process.pid, 'SIGTERM')
}
