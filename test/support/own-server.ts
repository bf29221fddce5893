import { afterAll, beforeAll } from 'vitest'
import { createTestDatabase, type TestDatabase, usualKind } from './database.ts'
import { type Server, startServer } from './server.ts'

/** A server on a database of the test file's own: there before its first test, and gone after its last. */
export function useServer(env: Record<string, string> = {}): { server: Server; database: TestDatabase } {
  // Filled later, so that a file names them once and before anything runs.
  const server = {} as Server
  const database = {} as TestDatabase
  beforeAll(async () => {
    Object.assign(database, await createTestDatabase(usualKind()))
    Object.assign(server, await startServer(database, env))
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })
  return { server, database }
}
