import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { type Server, startServer } from '../support/server.ts'

let database: TestDatabase
let server: Server
beforeAll(async () => {
  database = await createTestDatabase(usualKind())
  server = await startServer(database)
})
afterAll(async () => {
  await server.stop()
  await database.remove()
})

it('the page at /docs finds every file that it names', async () => {
  const page = await (await fetch(`${server.url}/api/v3/docs`)).text()
  const files = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(match => match[1] as string)
  expect(files.length).toBeGreaterThan(3)
  for (const file of files) expect((await fetch(new URL(file, server.url))).status, file).toBe(200)
})

it('the page takes no parameters, as little as any other route', async () => {
  for (const path of ['docs', 'docs/', 'docs/static/swagger-ui.css']) {
    const answer = await fetch(`${server.url}/api/v3/${path}?shoe=1`)
    expect([path, answer.status]).toEqual([path, 400])
    expect(await answer.json()).toMatchObject({ status: false, errors: [{ path: 'shoe' }] })
  }
})

it('the document is OpenAPI 3.1 and describes the live socket', async () => {
  const answer = await fetch(`${server.url}/api/v3/openapi.json`)
  const document = (await answer.json()) as {
    openapi: string
    paths: Record<string, Record<string, unknown>>
  }
  expect(document.openapi).toBe('3.1.0')
  expect(document.paths['/api/v3/live']?.get).toMatchObject({ 'x-permission': 'view/location' })
})
