import { describe, expect, it } from 'vitest'
import { addApiKey } from '../support/api-keys.ts'
import { listOperations, readDocument } from '../support/openapi.ts'
import { useOrganization } from '../support/shared-server.ts'

describe('A body whose every field has a default', () => {
  const { server, owner } = useOrganization()

  it('may be left out: a key is rotated as without an overlap', async () => {
    const { id, client } = await addApiKey(server, owner)
    const path = `/api-key/${id}/rotate`
    expect((await owner.post(path)).status).toBe(200)
    expect((await client.get('/user')).status).toBe(401)
    expect((await owner.post(path, undefined, { 'content-type': 'application/json' })).status).toBe(200)
    expect((await owner.post(path, { overlap: 1 })).status).toBe(400)
  })

  it('is not required in the document, and every other one is', async () => {
    const operations = listOperations(await readDocument(server)).filter(({ spec }) => spec.requestBody)
    const optional = operations.filter(({ spec }) => spec.requestBody?.required === false)
    expect(optional.map(({ name }) => name)).toEqual(['post /api/v3/api-key/{id}/rotate'])
    expect(JSON.stringify(operations)).not.toContain('x-optional-body')
  })
})
