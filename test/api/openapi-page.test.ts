import { expect, it } from 'vitest'
import { useServer } from '../support/own-server.ts'

const { server } = useServer()

it('the page at /docs finds every file that it names', async () => {
  const page = await (await fetch(`${server.url}/api/v3/docs`)).text()
  const files = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(match => match[1] as string)
  expect(files.length).toBeGreaterThan(3)
  for (const file of files) expect((await fetch(new URL(file, server.url))).status, file).toBe(200)
})

it('the page runs no script but its own files, and nobody frames it', async () => {
  const policy = (await fetch(`${server.url}/api/v3/docs`)).headers.get('content-security-policy')
  expect(policy).toContain(`default-src 'none'; script-src 'self';`)
  expect(policy).toContain(`frame-ancestors 'none'`)
})

it('the page reads the document that is written once', async () => {
  for (const form of ['json', 'yaml', 'json/']) {
    const answer = await fetch(`${server.url}/api/v3/docs/${form}`, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([308, '/api/v3/openapi.json'])
  }
  const document = await (await fetch(`${server.url}/api/v3/docs/json`)).json()
  expect(document).toMatchObject({ openapi: '3.1.0' })
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
