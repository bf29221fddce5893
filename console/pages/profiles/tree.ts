import type { Sample } from './samples.ts'

/** A value of a message with the path by which a profile finds it. */
export interface Node {
  key: string
  name: string
  path: string
  /** The path in a text that holds JSON. */
  inner: string | null
  value: unknown
  isList: boolean
  children: Node[]
}

/** More would be slow to draw, and nobody would find a value among them. */
const MAX_NODES = 400
const MAX_ENTRIES = 5
const MAX_DEPTH = 8
const PLAIN = /^[A-Za-z_][A-Za-z0-9_]*$/

const stepTo = (name: string) => (PLAIN.test(name) ? `.${name}` : `['${name.replace(/[\\']/g, '\\$&')}']`)

/** The values of a message: its topic by levels, its payload, its parameters. `each` is the list whose entries are positions. */
export function treeOf({ topic, payload, query, clientId }: Sample, each: string | null): Node[] {
  let count = 0
  function visit(
    at: { name: string; path: string; inner: string | null; key: string },
    value: unknown,
    depth: number,
  ): Node {
    count++
    const read = at.inner === null && typeof value === 'string' ? readJson(value) : undefined
    const inner = read === undefined ? at.inner : '$'
    const whole = read === undefined ? value : read
    const isList = Array.isArray(whole)
    const below = (name: string, step: string, child: unknown) => {
      const path =
        isList && inner === null && at.path === each ? '$.item' : inner === null ? at.path + step : at.path
      const place = { name, path, inner: inner === null ? null : inner + step, key: `${at.key}${step}` }
      return visit(place, child, depth + 1)
    }
    const children: Node[] = []
    if (depth < MAX_DEPTH && typeof whole === 'object' && whole !== null) {
      const entries = isList ? [...whole.slice(0, MAX_ENTRIES).entries()] : Object.entries(whole)
      for (const [name, child] of entries) {
        if (count >= MAX_NODES) break
        children.push(below(String(name), isList ? `[${name}]` : stepTo(String(name)), child))
      }
    }
    return { ...at, value, isList, children }
  }
  const root = (name: string, value: unknown) =>
    visit({ name, path: `$.${name}`, inner: null, key: `$.${name}` }, value, 0)
  const text = payload.trim()
  return [
    ...(text === '' ? [] : [root('payload', readJson(text) ?? text)]),
    ...(topic.trim() === '' ? [] : [root('topic', topic.split('/'))]),
    ...(query === null || Object.keys(query).length === 0 ? [] : [root('query', query)]),
    ...(clientId === null ? [] : [root('clientId', clientId)]),
  ]
}

/** The object or list that a text holds as JSON; undefined for any other text. */
function readJson(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
