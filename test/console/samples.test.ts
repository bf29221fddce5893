import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Operation, Parameter } from '../../console/reference/document.ts'
import { type Prepared, prepare } from '../../console/reference/requests.ts'
import { type Language, writeSample } from '../../console/reference/samples.ts'

const TSX = resolve(import.meta.dirname, '../../node_modules/tsx/dist/loader.mjs')

/** Characters that end a string, a line or a file somewhere, or that have a meaning in a shell, a form or a language. */
const HOSTILE = [
  ...[`it's`, '"quoted"', '\\', '\\\\', `\\'`, '`id`', '$(touch pwned)', '$HOME', '%s%n', '!!', '#', '{a,b}'],
  ...['[1-3]', '*', '@/etc/hostname', '-o pwned', '~', ';type=x', 'a\nb', 'a\rb', 'a\r\nb', '\t', '\u007f'],
  ...[
    '\u0085',
    '\u2028',
    '\u2029',
    '\u202e',
    'a\ufeff',
    '\u00ad',
    'é',
    '😀',
    '\u{e0041}',
    '<b>',
    '&amp;',
    '',
  ],
  ...[
    `'+__import__('os').system('touch pwned')+'`,
    `'); import('node:fs').then(f=>f.writeFileSync('pwned',''))`,
  ],
  ...['{__import__("os")}', '"\r\n\r\nx', '--b--', 'None', '__proto__', 'constructor', '=', '1e400'],
]
/** Only in JSON bodies: arguments of programs cannot hold a NUL, and UTF-8 no half character. */
const UNENCODABLE = ['\u0000', '\ud800', 'a\udfff']

const parameter = (name: string, place: 'path' | 'query', style?: string): Parameter => ({
  name,
  in: place,
  schema: {},
  ...(style ? { style } : {}),
})
const operation = (id: string, method: string, type: string | null): Operation => ({
  ...{ id, method, group: '', summary: '', description: '', permission: 'session', isSocket: false },
  path: '/things/{id}',
  parameters: [
    parameter('id', 'path'),
    parameter('search', 'query'),
    parameter('filter', 'query', 'deepObject'),
  ],
  body: type === null ? null : { type, example: { file: `a,b\n'1',"2"\n` } },
  answers: [],
})

interface Case {
  name: string
  operation: Operation
  request: Prepared
}

/** The request of a program as a server reads it. */
interface Received {
  target: string
  headers: IncomingMessage['headers']
  body: Buffer
}

describe('A sample program with arbitrary values', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-values-'))
  const received = new Map<string, Received>()
  const cases: Case[] = []
  const server = createServer(async (request, response) => {
    const { url = '', headers } = request
    received.set(String(headers['x-case']), { target: url, headers, body: await buffer(request) })
    response.end('{}')
  })

  beforeAll(async () => {
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    const add = (one: Operation, parameters: { [name: string]: string }, text = '') => {
      const request = prepare(one, { parameters: { id: 'x', ...parameters }, body: text }, origin, 'secret')
      const name = `case${cases.length}`
      request.headers['X-Case'] = name
      cases.push({ name, operation: one, request })
    }
    const get = operation('getThing', 'GET', null)
    const post = operation('postThing', 'POST', 'application/json')
    const form = operation('postForm', 'POST', 'multipart/form-data')
    for (const text of HOSTILE) {
      const filter = String(new URLSearchParams({ [text || 'x']: text, b: '1' }))
      add(get, { id: `x${text}`, search: text, filter })
    }
    const texts = [...HOSTILE, ...UNENCODABLE]
    add(post, {}, JSON.stringify(texts))
    add(post, {}, JSON.stringify(Object.fromEntries(texts.map((text, index) => [`${text}${index}`, text]))))
    add(post, {}, `{"__proto__":{"a":1},"b":{"__proto__":null,"constructor":1}}`)
    add(post, {}, '[1e400,-1e400,-0,1e21,1e-7,12345678901234567890,0.1,5e-324,true,false,null,[],{}]')
    const values = fc.sample(fc.jsonValue({ stringUnit: 'binary', maxDepth: 4 }), { numRuns: 20, seed: 1 })
    // Each is a value of the same body, and some are a body of their own.
    for (const json of [values, ...values.slice(0, 4)]) add(post, {}, JSON.stringify(json))
    // curl ends the name of a field at the first such sign, and cannot escape it.
    const named = HOSTILE.map((text, index) => [`x${index}${text.replaceAll('=', '')}`, text])
    add(form, {}, JSON.stringify({ ...Object.fromEntries(named), list: HOSTILE, none: null }))
    for (const text of HOSTILE.slice(0, 4))
      add(form, {}, JSON.stringify({ [`x${text}`]: text, list: [text] }))
  })
  afterAll(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })

  const sampleOf = (language: Language, { operation: one, request }: Case) =>
    writeSample(language, one, request) as string
  const run = (command: string, args: string[]) =>
    promisify(execFile)(command, args, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder } })
  const lines = (text: string) => text.replaceAll(/\r\n?/g, '\n')

  async function expectAll(): Promise<void> {
    for (const { name, request } of cases) {
      const sent = received.get(name)
      expect(sent, JSON.stringify(request)).toBeDefined()
      const { target, headers, body } = sent as Received
      const [asked, wanted] = [new URL(target, request.url), new URL(request.url)]
      expect(decodeURIComponent(asked.pathname)).toBe(decodeURIComponent(wanted.pathname))
      expect([...asked.searchParams]).toEqual([...wanted.searchParams])
      expect(headers.authorization).toBe('Bearer secret')
      if ('json' in request)
        expect(JSON.stringify(JSON.parse(body.toString()))).toBe(JSON.stringify(request.json))
      if (!request.form) continue
      const type = { 'content-type': headers['content-type'] as string }
      const entries = [...(await new Response(new Uint8Array(body), { headers: type }).formData())]
      const { form } = request
      expect(
        entries.map(([field, value]) => [lines(field), typeof value === 'string' && lines(value)]),
      ).toEqual([...form.fields.map(([field, value]) => [lines(field), lines(value)]), ['file', false]])
      const [, file] = entries.at(-1) as [string, File]
      expect(await file.text()).toBe(`${form.file}\n`)
    }
    expect(existsSync(join(folder, 'pwned'))).toBe(false)
    received.clear()
  }

  it('in curl sends the request of the page', async () => {
    writeFileSync(join(folder, '.curlrc'), 'silent\nshow-error\n')
    writeFileSync(join(folder, 'samples.sh'), cases.map(one => `${sampleOf('curl', one)}\n`).join(''))
    await run('sh', ['samples.sh'])
    await expectAll()
  })

  it('in TypeScript sends the request of the page', async () => {
    for (const one of cases) writeFileSync(join(folder, `${one.name}.ts`), sampleOf('TypeScript', one))
    writeFileSync(
      join(folder, 'samples.ts'),
      cases.map(({ name }) => `await import('./${name}.ts')\n`).join(''),
    )
    await run(process.execPath, ['--import', TSX, 'samples.ts'])
    await expectAll()
  })

  it('in Python sends the request of the page', async ({ skip }) => {
    const hasPython = await run('python3', ['--version']).catch(() => null)
    if (!hasPython) skip()
    for (const one of cases) writeFileSync(join(folder, `${one.name}.py`), sampleOf('Python', one))
    const all = cases.map(({ name }) => `runpy.run_path('${name}.py')\n`)
    writeFileSync(join(folder, 'samples.py'), `import runpy\n${all.join('')}`)
    await run('python3', ['samples.py'])
    await expectAll()
  })
})
