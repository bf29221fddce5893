import { afterAll, beforeAll } from 'vitest'
import { createTestDatabase, type TestDatabase, usualKind } from './database.ts'
import { openServer, type Server, type ServerProcess, startServer } from './server.ts'

type Own<S> = { server: S; database: TestDatabase }

/** A server on a separate database, from the first test of the file to its last. */
export function useServer(env: Record<string, string> = {}): Own<Server> {
  return use(database => openServer(database, env))
}

/** The same in a separate process, for a file that ends it, freezes it, or measures its processor time or memory. */
export function useServerProcess(env: Record<string, string> = {}): Own<ServerProcess> {
  return use(database => startServer(database, env))
}

function use<S extends Server>(open: (database: TestDatabase) => Promise<S>): Own<S> {
  // Filled later, so that a file names them once and before anything runs.
  const server = {} as S
  const database = {} as TestDatabase
  beforeAll(async () => {
    Object.assign(database, await createTestDatabase(usualKind()))
    Object.assign(server, await open(database))
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })
  return { server, database }
}
