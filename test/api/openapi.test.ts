import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import fastify from 'fastify'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { newId } from '../../db/client.ts'
import { PERMISSIONS } from '../../src/http/permissions.ts'
import { gatherRoutes } from '../../src/resources/interface/document.ts'
import type { App } from '../../src/services.ts'
import { type Client, createDevice } from '../support/client.ts'
import {
  type JsonSchema,
  listOperations,
  type OpenApi,
  type Operation,
  readDocument,
  readRawDocument,
  resolveSchema,
} from '../support/openapi.ts'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

/** Contract section 2: the document lists every route that answers, with everything that a client needs to know. */
describe('The OpenAPI document', () => {
  const { server, owner } = useOrganization()
  let document: OpenApi
  let operations: Operation[]

  beforeAll(async () => {
    document = await readDocument(server)
    operations = listOperations(document)
  })

  /** The operations that violate a rule. */
  const offenders = (holds: (operation: Operation) => unknown) =>
    operations.filter(operation => !holds(operation)).map(({ name }) => name)

  it('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(JSON.parse(JSON.stringify(document)))
    expect(result.errors ?? []).toEqual([])
    expect(document.openapi).toBe('3.1.0')
  })

  it('bounds no list of an answer: more may be stored than one request may name', () => {
    const bounded = (given: unknown): unknown[] => {
      if (typeof given !== 'object' || given === null) return []
      const schema = resolveSchema(document, given)
      const { maxItems, minItems } = schema as { maxItems?: number; minItems?: number }
      const own = maxItems !== undefined && maxItems !== minItems ? [schema] : []
      return [
        ...own,
        // A role is written as a whole.
        ...Object.entries(schema).flatMap(([key, part]) =>
          key === 'restrictedFields' || key === 'example' || key === 'examples' ? [] : bounded(part),
        ),
      ]
    }
    expect(offenders(({ spec }) => bounded(spec.responses).length === 0)).toEqual([])
  })

  it('has a summary, a description and a tag for each operation', () => {
    expect(operations.length).toBeGreaterThan(50)
    expect(offenders(({ spec }) => spec.summary && spec.description && spec.tags?.length)).toEqual([])
    const summaries = operations.map(({ spec, method }) => `${method} ${spec.summary}`)
    const twice = summaries.filter((summary, index) => summaries.indexOf(summary) < index)
    // One operation under the two paths of the specification.
    expect(twice).toEqual(['post Create an organization and go on in it'])
  })

  it('can be made into a client: each object has a name, each value a type', async () => {
    const raw = await readRawDocument(server)
    const { webhooks, tags, components, paths } = raw
    const problems: string[] = []
    const check = (schema: JsonSchema, at: string, isNamed = false) => {
      const { $ref, type, anyOf, oneOf, items, prefixItems, properties, additionalProperties } = schema
      const wrong = (what: string) => problems.push(`${at}: ${what}`)
      const choices = anyOf ?? oneOf ?? []
      if (!isNamed && (properties || choices.filter(one => one.type !== 'null').length > 1))
        wrong('an object or a union without a name')
      if (!$ref && !type && choices.length === 0 && at !== 'AnyValue') wrong('no type')
      const only = schema.enum ?? ('const' in schema ? [schema.const] : [])
      if (only.some(value => typeof value !== 'string')) wrong('a choice of what is no text')
      if (type === 'array' && !items) wrong('a list without items')
      if (type === 'object' && !properties && !additionalProperties) wrong('an object of nothing')
      const standard = schema.default
      if (typeof standard === 'object' && standard && Object.keys(standard).length > 0)
        wrong('a default that is an object')
      for (const [name, part] of Object.entries(properties ?? {})) check(part, `${at}.${name}`)
      if (typeof additionalProperties === 'object') check(additionalProperties, `${at}.*`)
      for (const part of [...choices, ...(items ? [items] : []), ...(prefixItems ?? [])])
        check(part, `${at}[]`)
    }
    for (const [name, schema] of Object.entries(components.schemas)) check(schema, name, true)
    const events = Object.entries(webhooks).map(([name, { post }]) => ({ name, spec: post }))
    for (const { name, spec } of [...listOperations(raw), ...events]) {
      for (const { schema } of spec.parameters ?? []) check(schema ?? {}, name)
      for (const { content } of [spec.requestBody, ...Object.values(spec.responses)].filter(part => !!part))
        for (const [media, { schema }] of Object.entries(content ?? {}))
          check(schema ?? {}, `${name} ${media}`)
    }
    // The receipts of apps are empty, and so is the answer to signing out.
    expect(problems.filter(problem => !/^Nothing: /.test(problem))).toEqual([])

    const names = Object.keys(components.schemas)
    expect(names.filter(name => !/^[A-Z][A-Za-z0-9]*$/.test(name))).toEqual([])
    expect(new Set(names.map(name => name.toLowerCase())).size).toBe(names.length)
    const texts = Object.values(components.schemas).map(schema => JSON.stringify(schema))
    expect(
      names.filter((_, at) => texts.indexOf(texts[at] as string) < at),
      'the same twice',
    ).toEqual([])
    const used = JSON.stringify({ paths, components, webhooks })
    expect(names.filter(name => !used.includes(`"#/components/schemas/${name}"`))).toEqual([])

    // A generator creates a file for each tag's operations, and one for each tag's events.
    const known = tags.map(({ name }) => name)
    const ofEvents = new Set(events.flatMap(({ spec }) => spec.tags ?? []))
    const ofOperations = new Set(operations.flatMap(({ spec }) => spec.tags ?? []))
    expect([...ofOperations].filter(tag => ofEvents.has(tag) || !known.includes(tag))).toEqual([])
    expect([...ofEvents].filter(tag => !known.includes(tag))).toEqual([])
    // 2.9 kB an operation with 176 of them; it was over 5 when no schema had a name.
    expect(JSON.stringify(raw).length / operations.length).toBeLessThan(3_000)
  })

  it('has types with which a program signs in, makes a device, sends points and reads pages', async () => {
    // The compiler checks the types against them (`npm run lint`). With other generators and languages: `npm run
    // clients`.
    const { email, password } = await addPerson(server, owner, { role: 'Admin' })
    const known = { FIELDLINE_URL: server.url, FIELDLINE_EMAIL: email, FIELDLINE_PASSWORD: password }
    Object.assign(process.env, known)
    await import('../clients/programs/openapi-typescript.ts')
  })

  it('is not made of an operation whose body names its keys and takes others', async () => {
    const app = fastify() as unknown as App
    await gatherRoutes(app)
    const name = z.string()
    const schema = { summary: 'Names', description: 'Names something', tags: ['Hubs'] }
    const add = (url: string, body: z.ZodType) => app.post(url, { schema: { ...schema, body } }, () => null)
    expect(() => add('/strict', z.strictObject({ name }))).not.toThrow()
    expect(() => add('/open', z.object({ name }))).toThrow('The body of POST /open takes unknown keys')
    const inner = z.strictObject({ inner: z.array(z.object({ name })) })
    expect(() => add('/inner', inner)).toThrow('The body of POST /inner takes unknown keys')
    await app.close()
  })

  it('names each operation once, of its method and path, and a filter as an object', () => {
    const names = operations.map(({ spec }) => spec.operationId)
    expect(new Set(names).size).toBe(operations.length)
    for (const name of names) expect(name).toMatch(/^(get|post|put|patch|delete)([A-Z][A-Za-z0-9]*)+$/)
    const named = Object.fromEntries(operations.map(({ name, spec }) => [name, spec.operationId]))
    expect(named['get /api/v3/hubs']).toBe('getHubs')
    expect(named['patch /api/v3/user/{id}']).toBe('patchUserById')
    expect(named['get /api/v3/openapi.json']).toBe('getOpenapiJson')
    const data = operations.find(({ name }) => name === 'get /api/v3/data')
    expect(data?.spec.parameters?.find(({ name }) => name === 'filter')?.style).toBe('deepObject')
  })

  it('names what each operation needs, and asks for a token where it needs one', () => {
    const known = new Set<string>([...PERMISSIONS, 'public', 'session', 'device'])
    expect(offenders(({ spec }) => known.has(spec['x-permission'] as string))).toEqual([])
    const open = (spec: Operation['spec']) => spec['x-permission'] === 'public' || spec.security?.length === 0
    expect(offenders(({ spec }) => open(spec) || spec.security?.some(one => 'bearer' in one))).toEqual([])
  })

  it('has an example for each body and each success, and they fit their schemas', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    formats.default(ajv)
    ajv.addFormat('idn-email', true)
    ajv.addSchema({ $id: 'document', components: document.components } as AnySchema)
    const validate = (schema: object) =>
      ajv.compile(
        JSON.parse(
          JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/'),
        ) as AnySchema,
      )
    // Operations share most of their answers.
    const compiled = new Map<string, ReturnType<typeof validate>>()
    const validatorOf = (schema: object) => {
      const text = JSON.stringify(schema)
      const validator = compiled.get(text) ?? validate(schema)
      compiled.set(text, validator)
      return validator
    }
    const problems: string[] = []
    for (const { name, spec } of operations) {
      const contents = Object.entries({ body: spec.requestBody, ...spec.responses })
      for (const [where, part] of contents) {
        for (const [type, media] of Object.entries(part?.content ?? {})) {
          if (!('example' in media)) problems.push(`${name} ${where} ${type}: no example`)
          else if (media.schema && type === 'application/json') {
            const fits = validatorOf(media.schema)
            if (!fits(media.example)) problems.push(`${name} ${where}: ${ajv.errorsText(fits.errors)}`)
          }
        }
      }
    }
    expect(problems).toEqual([])
  })

  it('names every failure that follows from what an operation asks for', () => {
    const interfaceOnly = operations.filter(({ path }) => path.startsWith('/api/v3'))
    const lacking = interfaceOnly.flatMap(({ name, path, spec }) => {
      if (name === 'get /api/v3/docs') return []
      const needed = ['429', '500', '503']
      const access = spec['x-permission'] as string
      if (access !== 'public') needed.push('401')
      if (access.includes('/')) needed.push('403')
      if (spec.requestBody) needed.push('400', '408', '413', '415')
      if (spec.parameters?.some(parameter => parameter.in === 'query')) needed.push('400')
      if (path.includes('{')) needed.push('404')
      return needed.filter(status => !spec.responses[status]).map(status => `${name} ${status}`)
    })
    expect(lacking).toEqual([])
  })

  it('says what a path and a query take: every parameter has a schema', () => {
    const undescribed = operations.flatMap(({ name, path, spec }) => {
      const named = new Set(spec.parameters?.filter(one => one.in === 'path').map(one => one.name))
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1] as string)
      return [
        ...inPath.filter(one => !named.has(one)).map(one => `${name} {${one}}`),
        ...(spec.parameters ?? []).filter(one => !one.schema).map(one => `${name} ${one.name}`),
      ]
    })
    expect(undescribed).toEqual([])
  })

  it('lists what answers: each operation is there, with and without a trailing slash', async () => {
    const missing: string[] = []
    const guessed: string[] = []
    // The examples above may keep a slow machine busy for longer than the server keeps an idle connection open. This process
    // notices that it was closed with the next request.
    await fetch(server.url).catch(() => {})
    for (const { name, method, path } of operations) {
      for (const slash of ['', '/']) {
        const response = await fetch(`${server.url}${path.replaceAll(/\{\w+\}/g, 'x')}${slash}`, {
          method: method.toUpperCase(),
          redirect: 'manual',
        })
        const text = await response.text()
        if (response.headers.get('x-content-type-options') !== 'nosniff') guessed.push(`${name}${slash}`)
        if (response.status === 404 && text.includes('nothing at this address'))
          missing.push(`${name}${slash}`)
      }
    }
    expect(missing).toEqual([])
    expect(guessed, 'a browser may guess what it is').toEqual([])
  })

  it('leads to refusals that name what they are about', async () => {
    const nameless: string[] = []
    const said = ({ name }: Operation, { status, body }: Awaited<ReturnType<Client['get']>>) => {
      if (
        status === 400 &&
        /^(This|There is no such (field|parameter))\b|none of the forms/.test(body.message)
      )
        nameless.push(`${name}: ${body.message}`)
      return status === 400
    }
    let count = 0
    for (const operation of operations.filter(({ path }) => /^\/api\/v3[^{]*$/.test(path))) {
      const { method, path, spec } = operation
      const own = path.replace('/api/v3', '')
      const filters = method === 'get' ? (spec.parameters ?? []).filter(one => one.in === 'query') : []
      for (const { name } of filters) if (said(operation, await owner.get(`${own}?${name}=%7B`))) count++
      if (method === 'post' && spec.requestBody?.content['application/json'] && !path.includes('/auth/'))
        for (const body of [
          { shoe: 1 },
          { format: 'json', filter: { shoe: {} } },
          { format: 'json', filter: { from: 'x' } },
        ])
          if (said(operation, await owner.post(own, body))) count++
    }
    expect(nameless).toEqual([])
    expect(count).toBeGreaterThan(50)
  })

  it('has a pagination with every list, also where all of it is one page', async () => {
    const isList = ({ spec }: Operation) => {
      const schema = resolveSchema(document, spec.responses['200']?.content?.['application/json']?.schema)
      return schema.properties?.data?.type === 'array' && !schema.properties.pagination
    }
    // The settings of all apps are one answer, and so are the words for one point.
    expect(operations.filter(one => one.method === 'get' && isList(one)).map(({ name }) => name)).toEqual([
      'get /api/v3/device/{id}/setup',
      'get /api/v3/connection/{id}/setup',
      'get /api/v3/places',
    ])
    for (const path of ['/permissions', '/auth/sessions', '/auth/my-organizations']) {
      const { data, pagination } = (await owner.get(path)).body
      expect([path, pagination]).toEqual([path, { limit: data.length, nextCursor: null, total: data.length }])
    }
  })

  it('lists every path of the specification that is built', async () => {
    const paths = new Set(operations.map(({ method, path }) => `${method} ${path}`))
    for (const operation of [
      'post /organization',
      'post /auth/create-organization',
      'get /auth/my-organizations',
      'post /auth/switch-organization',
      'get /location-histories',
      'get /location-history/{id}',
      'post /location-history/bulk',
      'get /teams',
      'get /team/{id}',
      'post /team',
      'put /team/{id}',
      'get /users',
      'get /user',
      'patch /user',
      'get /user/email/{email}',
    ]) {
      expect(paths).toContain(operation.replace(' ', ' /api/v3'))
    }
  })

  it('answers what it says: each success of a list fits its schema', async () => {
    const ajv = new Ajv2020({ strict: false })
    formats.default(ajv)
    ajv.addFormat('idn-email', true)
    ajv.addSchema({ $id: 'document', components: document.components } as AnySchema)
    for (const { name, method, path, spec } of operations) {
      if (method !== 'get' || path.includes('{') || !path.startsWith('/api/v3') || spec.responses['101'])
        continue
      const answer = await owner.get(path.replace('/api/v3', ''))
      const schema = spec.responses['200']?.content?.['application/json']?.schema
      if (!schema || answer.status !== 200) continue
      const text = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')
      const fits = ajv.compile(JSON.parse(text) as AnySchema)
      expect(fits(answer.body), `${name}: ${ajv.errorsText(fits.errors)}`).toBe(true)
    }
  })

  it('names media types without parameters, as clients look for them', () => {
    const types = operations.flatMap(({ name, spec }) =>
      [spec.requestBody, ...Object.values(spec.responses)].flatMap(part =>
        Object.keys(part?.content ?? {}).map(type => `${name}: ${type}`),
      ),
    )
    expect(types.filter(type => !/: [a-z]+\/[a-z0-9.+-]+$/.test(type))).toEqual([])
  })

  it('lists what a device is answered that asks with its key, whatever it asks for', async () => {
    const unlisted: string[] = []
    let key = ''
    for (const { name, method, path, spec } of operations) {
      key ||= (await createDevice(owner)).key
      const answer = await fetch(`${server.url}${path.replaceAll(/\{\w+\}/g, newId)}`, {
        method: method.toUpperCase(),
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.timeout(120_000),
      })
      await answer.body?.cancel()
      if (!(answer.status in spec.responses)) unlisted.push(`${name} ${answer.status}`)
      // What was done may have changed what the key opens, and after too many requests it is refused.
      if (answer.status < 300 || [401, 429].includes(answer.status)) key = ''
    }
    expect(unlisted).toEqual([])
  })
})
