import { resolve } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { boundAnswer } from '../../src/commands/mcp-answer.ts'
import { addApiKey } from '../support/api-keys.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const PROGRAM = resolve(ROOT, 'dist/src/commands/mcp.js')

describe('The server for assistants', () => {
  const { server, owner } = useOrganization()
  const opened: Client[] = []
  /** Of an administrator, without --allow-writes. */
  let reading: Awaited<ReturnType<typeof open>>
  let readingKey: string
  beforeAll(async () => {
    readingKey = (await addApiKey(server, owner, { role: 'Admin' })).key
    reading = await open(readingKey)
  })
  afterAll(async () => {
    for (const client of opened) await client.close()
  })

  /** Starts it as an assistant does. Its standard error is collected. */
  async function open(key: string, args: string[] = []) {
    const env = { PATH: process.env.PATH ?? '', FIELDLINE_URL: server.url, FIELDLINE_API_KEY: key }
    const transport = new StdioClientTransport({
      ...{ command: process.execPath, args: [PROGRAM, ...args], env, cwd: ROOT, stderr: 'pipe' as const },
    })
    const said = { text: '' }
    transport.stderr?.on('data', chunk => {
      said.text += chunk
    })
    const client = new Client({ name: 'a test', version: '1.0.0' })
    opened.push(client)
    await client.connect(transport)
    return { client, said }
  }
  const ask = async (client: Client, name: string, given: object = {}) => {
    const result = await client.callTool({ name, arguments: { ...given } })
    const [content] = result.content as { type: string; text: string }[]
    return { text: content?.text ?? '', isError: result.isError === true }
  }
  const listAll = async (client: Client) => (await client.listTools()).tools

  it('offers what reads, as far as the role allows, and answers with the records', async () => {
    await owner.post('/hub', { name: 'Depot', lat: 1, lng: 2 })
    const { client, said } = reading
    const tools = await listAll(client)
    expect(tools.length).toBeGreaterThan(40)
    for (const { name, description, inputSchema, annotations } of tools) {
      expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
      expect(description?.length).toBeGreaterThan(10)
      expect(description?.length).toBeLessThanOrEqual(601)
      expect(JSON.stringify(inputSchema)).not.toContain('#/components')
      expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false })
    }
    // All of them are read before every conversation.
    expect(JSON.stringify(tools).length).toBeLessThan(200_000)
    const names = tools.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['getHubs', 'getUser']))
    expect(names).not.toEqual(expect.arrayContaining(['postHub']))
    const hubs = JSON.parse((await ask(client, 'getHubs', { search: 'depot' })).text)
    expect(hubs.data).toMatchObject([{ name: 'Depot' }])
    expect(hubs.pagination.limit).toBe(20)
    await until('it says who it is', () => said.text.includes('Program (Admin)'))
    expect(said.text).not.toContain(readingKey)
  })

  it('offers nothing that the role lacks', async () => {
    const role = await owner.post('/role', {
      name: 'Sees hubs',
      permissionDetails: [{ permissionName: 'view/hub' }],
    })
    const { key } = await addApiKey(server, owner, { roleId: role.body.data._id })
    const { client } = await open(key, ['--allow-writes'])
    const names = (await listAll(client)).map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['getHubs']))
    for (const name of ['getTasks', 'postHub', 'deleteHubById', 'getUsers']) expect(names).not.toContain(name)
    expect(await ask(client, 'postHub', { body: {} })).toMatchObject({ isError: true })
  })

  it('writes with --allow-writes alone', async () => {
    const body = { name: 'By an assistant', lat: 1, lng: 2 }
    expect(await ask(reading.client, 'postHub', { body })).toMatchObject({ isError: true })
    const { client } = await open(readingKey, ['--allow-writes'])
    const tools = await listAll(client)
    const hints = (name: string) => {
      const { readOnlyHint, destructiveHint } = tools.find(tool => tool.name === name)?.annotations ?? {}
      return [readOnlyHint, destructiveHint]
    }
    expect(hints('getHubs')).toEqual([true, false])
    expect(hints('postHub')).toEqual([false, false])
    for (const name of ['patchHubById', 'deleteHubById', 'postApiKeyByIdRotate'])
      expect([name, ...hints(name)]).toEqual([name, false, true])
    const made = JSON.parse((await ask(client, 'postHub', { body })).text)
    expect(made.data.name).toBe('By an assistant')
    const wrong = await ask(client, 'postHub', { body: { name: '' } })
    expect(wrong.isError).toBe(true)
    expect(JSON.parse(wrong.text).errors[0].path).toBe('name')
  })

  it('tells an assistant what is wrong with its arguments, and sends nothing', async () => {
    const { client } = reading
    for (const given of [{ colour: 'red' }, { search: { of: 'object' } }])
      expect(await ask(client, 'getHubs', given)).toMatchObject({ isError: true })
    const tools = await listAll(client)
    const one = tools.find(({ inputSchema }) => inputSchema.required?.includes('id'))?.name ?? ''
    for (const given of [{}, { id: '..' }, { id: '' }, { id: '../hubs' }, { id: 'x?limit=1' }])
      expect((await ask(client, one, given)).isError).toBe(true)
  })

  it('ends with one sentence without a key that is valid', async () => {
    const { key, id } = await addApiKey(server, owner)
    await owner.delete(`/api-key/${id}`)
    for (const wrong of ['', 'flk_short', owner.token, key]) await expect(open(wrong)).rejects.toThrow()
  })

  it('says that a key has ended while it runs', async () => {
    const { key, id } = await addApiKey(server, owner)
    const { client } = await open(key)
    await owner.delete(`/api-key/${id}`)
    const answer = await ask(client, 'getHubs')
    expect(answer.isError).toBe(true)
    expect(JSON.parse(answer.text).code).toBe('unauthorized')
  })

  it('bounds an answer: of a list whole records, and how to read the rest', () => {
    const data = Array.from({ length: 500 }, (_, at) => ({ _id: at, note: 'x'.repeat(500) }))
    const text = boundAnswer(JSON.stringify({ status: true, data, pagination: { limit: 500 } }), 10_000)
    expect(text.length).toBeLessThanOrEqual(10_000)
    const bounded = JSON.parse(text)
    expect(bounded.data).toEqual(data.slice(0, bounded.data.length))
    expect(bounded.note).toContain(`limit ${bounded.data.length}`)
    expect(boundAnswer('x'.repeat(20_000), 10_000)).toMatch(/^x{10000}\n… 10000 more characters/)
    expect(boundAnswer('{"data":[]}', 10_000)).toBe('{"data":[]}')
  })
})
