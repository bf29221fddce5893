import type { Operation } from './document.ts'
import { newIdempotencyKey, type Prepared, takesIdempotencyKey } from './requests.ts'

export const LANGUAGES = ['curl', 'TypeScript', 'Python'] as const
export type Language = (typeof LANGUAGES)[number]

/** A program that sends the request and prints the response, complete as it is; null if the language cannot send it. */
export function writeSample(language: Language, operation: Operation, request: Prepared): string | null {
  if (operation.isSocket) return writeSocketSample(language, request)
  return { curl: writeCurl, TypeScript: writeTypeScript, Python: writePython }[language](operation, request)
}

/** In a quoted shell string, only the quote has a meaning. */
const shell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
/** Characters that would end a line or a file, that are half a character, or that are invisible after pasting. */
const UNWRITTEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu
/** A string literal that TypeScript and Python share; both accept characters beyond the first 65,536 as they are. */
const quote = (text: string) =>
  `'${text
    .replaceAll(/[\\']/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll(UNWRITTEN, one =>
      one.length > 1 ? one : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )}'`
/** In a form, as browsers encode it. [HTML, 4.10.21.8] */
const formName = (name: string) => name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
const indent = (text: string, spaces: number) => text.replaceAll('\n', `\n${' '.repeat(spaces)}`)

const isFile = ({ answers }: Operation) =>
  answers.some(({ status, types }) => status === '200' && types.some(type => type.includes('sheet')))

function writeCurl(operation: Operation, { method, url, headers, json, form }: Prepared): string {
  const lines = [method === 'GET' ? `curl ${shell(url)}` : `curl -X ${method} ${shell(url)}`]
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${shell(`${name}: ${value}`)}`)
  if (takesIdempotencyKey(operation)) lines.push(`-H ${shell(`Idempotency-Key: ${newIdempotencyKey()}`)}`)
  if (json !== undefined) lines.push(`-d ${shell(JSON.stringify(json, null, 2))}`)
  for (const [name, value] of form?.fields ?? []) lines.push(`--form-string ${shell(`${name}=${value}`)}`)
  if (form) lines.push(`-F ${shell(`file=@${form.fileName}`)}`)
  // Saves the file under the name in the response.
  if (isFile(operation)) lines.push(`-OJ -w '%{http_code} %{filename_effective}\\n'`)
  const file = form ? `printf '%s\\n' ${shell(form.file)} > ${form.fileName}\n` : ''
  return `${file}${lines.join(' \\\n  ')}`
}

function writeTypeScript(operation: Operation, { method, url, headers, json, form }: Prepared): string {
  const entries = Object.entries(headers).map(([name, value]) => `${literalName(name)}: ${quote(value)},`)
  if (takesIdempotencyKey(operation)) entries.push(`'Idempotency-Key': crypto.randomUUID(),`)
  const options = [
    ...(method === 'GET' ? [] : [`method: ${quote(method)},`]),
    ...(entries.length > 0 ? [`headers: {\n    ${entries.join('\n    ')}\n  },`] : []),
    ...(json === undefined ? [] : [`body: JSON.stringify(${indent(toTypeScript(json), 2)}),`]),
    ...(form ? ['body: form,'] : []),
  ]
  const before = form
    ? [
        'const form = new FormData()',
        ...form.fields.map(([name, value]) => `form.set(${quote(name)}, ${quote(value)})`),
        `form.set('file', new Blob([${quote(`${form.file}\n`)}]), ${quote(form.fileName)})`,
        '',
      ].join('\n')
    : ''
  const call =
    options.length > 0 ? `fetch(${quote(url)}, {\n  ${options.join('\n  ')}\n})` : `fetch(${quote(url)})`
  // `await` at the top of a file needs a module, so the sample ends with an export.
  return `${before}const response = await ${call}
console.log(response.status, await response.text())

export {}`
}

function writePython(operation: Operation, { method, url, headers, json, form }: Prepared): string {
  const entries = Object.entries(headers).map(([name, value]) => `${quote(name)}: ${quote(value)},`)
  if (takesIdempotencyKey(operation)) entries.push(`'Idempotency-Key': str(uuid.uuid4()),`)
  if (form) entries.push(`'Content-Type': 'multipart/form-data; boundary=' + boundary,`)
  const modules = [
    ...(json === undefined ? [] : ['json']),
    'urllib.error',
    'urllib.request',
    ...(form || takesIdempotencyKey(operation) ? ['uuid'] : []),
  ]
  const parts = form
    ? `
boundary = uuid.uuid4().hex
parts = [
${form.fields.map(([name, value]) => `    (${quote(`; name="${formName(name)}"`)}, ${quote(value)}),\n`).join('')}    ('; name="file"; filename="${form.fileName}"', ${quote(`${form.file}\n`)}),
]
body = ''.join(
    f'--{boundary}\\r\\nContent-Disposition: form-data{head}\\r\\n\\r\\n{text}\\r\\n' for head, text in parts
)
`
    : ''
  const options = [
    `${quote(url)},`,
    `method=${quote(method)},`,
    ...(entries.length > 0 ? [`headers={\n        ${entries.join('\n        ')}\n    },`] : []),
    ...(json === undefined ? [] : [`data=json.dumps(${indent(toPython(json), 4)}).encode(),`]),
    ...(form ? [`data=f'{body}--{boundary}--\\r\\n'.encode(),`] : []),
  ]
  return `${modules.map(name => `import ${name}`).join('\n')}
${parts}
request = urllib.request.Request(
    ${options.join('\n    ')}
)
try:
    response = urllib.request.urlopen(request)
except urllib.error.HTTPError as failure:
    response = failure
print(response.status, response.read().decode(errors='replace'))`
}

function writeSocketSample(language: Language, { url, headers }: Prepared): string | null {
  const token = headers.Authorization?.slice('Bearer '.length)
  if (language === 'curl') {
    // The sample shows that the socket opens; frames need a program.
    return [
      `curl --include --no-buffer --max-time 3 ${shell(url)}`,
      ...(token ? [`-H ${shell(`Authorization: Bearer ${token}`)}`] : []),
      `-H 'Connection: Upgrade'`,
      `-H 'Upgrade: websocket'`,
      `-H 'Sec-WebSocket-Version: 13'`,
      `-H 'Sec-WebSocket-Key: ${btoa(newIdempotencyKey().slice(0, 16))}'`,
    ].join(' \\\n  ')
  }
  // Python has no WebSocket client in its standard library.
  if (language === 'Python' || url.endsWith('/mqtt')) return null
  const protocols = token ? `, ['bearer', ${quote(token)}]` : ''
  const subscribe = token
    ? `socket.onopen = () => socket.send(JSON.stringify({ type: 'subscribe', filter: {}, since: null }))\n`
    : ''
  return `// Node has WebSocket from version 22 on. Deno, Bun and every browser have it too.
const socket = new WebSocket(${quote(url.replace(/^http/, 'ws'))}${protocols})
${subscribe}socket.onmessage = ({ data }) => console.log(data)
socket.onclose = ({ code, reason }) => console.log('closed', code, reason)

export {}`
}

function literalName(name: string): string {
  // Without brackets it would set the prototype instead of a field.
  if (name === '__proto__') return `['__proto__']`
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name)
}

/** A value as a TypeScript literal. */
export function toTypeScript(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (Array.isArray(value)) return list('[', ']', value.map(toTypeScript))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(([name, one]) => `${literalName(name)}: ${toTypeScript(one)}`)
  return list('{', '}', entries, 2)
}

export function toPython(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (Array.isArray(value)) return list('[', ']', value.map(toPython), 4)
  // A JSON number that is too large becomes null.
  if (value === null || value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const entries = Object.entries(value).map(([name, one]) => `${quote(name)}: ${toPython(one)}`)
  return list('{', '}', entries, 4)
}

function list(open: string, close: string, entries: string[], spaces = 2): string {
  if (entries.length === 0) return open + close
  const lines = entries.map(entry => indent(`\n${entry}`, spaces)).join(',')
  return `${open}${lines},\n${close}`
}
