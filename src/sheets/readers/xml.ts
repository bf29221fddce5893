import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { SaxesParser } from 'saxes'
import { tooLarge, unimportable } from '../file-error.ts'
import { MAX_CELL_CHARACTERS } from '../limits.ts'
import { explain } from './zip.ts'

/** The namespaces of a part, in the transitional and the strict form. [ISO 29500-4, A and ISO 29500-1, A] */
export const SPREADSHEET: readonly string[] = [
  'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
  'http://purl.oclc.org/ooxml/spreadsheetml/main',
]
/** The namespaces of relationships between parts. The types of relationships begin with them as well. */
export const OFFICE_RELATIONSHIPS: readonly string[] = [
  'http://schemas.openxmlformats.org/officeDocument/2006/relationships',
  'http://purl.oclc.org/ooxml/officeDocument/relationships',
]
/** [ISO 29500-2, E] */
export const PACKAGE_RELATIONSHIPS: readonly string[] = [
  'http://schemas.openxmlformats.org/package/2006/relationships',
]
/** The namespace of elements with alternatives in several namespaces. [ISO 29500-3] */
const COMPATIBILITY = 'http://schemas.openxmlformats.org/markup-compatibility/2006'

/** Handles elements of the part's own namespaces. Their names, and those of their attributes, come without a prefix. */
export interface XmlEvents {
  /** `namespaceOf` resolves the prefix of an attribute. */
  open?(
    name: string,
    attributes: { [name: string]: string },
    namespaceOf: (prefix: string) => string | undefined,
  ): void
  close?(name: string): void
  text?(text: string): void
}

/** The depth of nested elements; a sheet has six levels. */
const MAX_DEPTH = 64

/**
 * Reads XML piece by piece, and yields after each piece: `for await (const _ of readXml(…))`. Elements of other
 * namespaces are left out with their content. A document with a document type is refused, so there are no entities to
 * expand and nothing to fetch.
 */
export async function* readXml(
  stream: Readable,
  where: string,
  namespaces: readonly string[],
  events: XmlEvents,
): AsyncGenerator<void> {
  const parser = new SaxesParser()
  const prefixes = createPrefixes()
  let waiting = 0
  let depth = 0
  /** The depth of a foreign element while it is left out; 0 if there is none. */
  let foreign = 0
  let prefix = ''
  let local = ''
  const separate = (name: string) => {
    const colon = name.indexOf(':')
    prefix = colon === -1 ? '' : name.slice(0, colon)
    local = name.slice(colon + 1)
  }
  const broken = () => unimportable(`${where} is not valid XML: save the workbook anew.`)
  parser.on('doctype', () => {
    throw unimportable(`${where} declares a document type, which no workbook does.`)
  })
  parser.on('error', () => {
    throw broken()
  })
  parser.on('opentag', ({ name, attributes }) => {
    waiting = 0
    if (++depth > MAX_DEPTH) throw broken()
    if (foreign > 0) return
    prefixes.declare(attributes, depth)
    separate(name)
    const namespace = prefixes.resolve(prefix)
    if (namespace === undefined) throw broken()
    if (namespaces.includes(namespace)) return events.open?.(local, attributes, prefixes.resolve)
    if (depth === 1) {
      throw unimportable(`${where} is in a namespace that no workbook has: save the workbook anew.`)
    }
    // The last of several alternatives is for readers that know no other namespaces.
    if (namespace !== COMPATIBILITY || !TRANSPARENT.has(local)) foreign = depth
  })
  parser.on('closetag', ({ name }) => {
    waiting = 0
    if (foreign === 0) {
      separate(name)
      if (namespaces.includes(prefixes.resolve(prefix) ?? '')) events.close?.(local)
    }
    if (foreign === depth) foreign = 0
    prefixes.leave(depth--)
  })
  if (events.text) {
    const text = (text: string) => {
      if (foreign === 0) events.text?.(text)
    }
    parser.on('text', text)
    parser.on('cdata', text)
  }
  try {
    for await (const text of decode(stream)) {
      waiting += text.length
      parser.write(text)
      // The parser keeps all of an unfinished token.
      if (waiting > MAX_CELL_CHARACTERS + text.length) {
        throw tooLarge(
          `${where} holds a text of more than ${MAX_CELL_CHARACTERS.toLocaleString('en')} characters.`,
        )
      }
      yield
    }
    parser.close()
    yield
  } catch (error) {
    throw explain(error)
  } finally {
    stream.destroy()
  }
}

/** Decodes a part in UTF-8 or UTF-16, the only encodings allowed, piece by piece. [ISO 29500-2, 7.2.2] */
async function* decode(stream: Readable): AsyncGenerator<string> {
  let begin = Buffer.alloc(0)
  let read: ((chunk: Buffer) => string) | undefined
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (read) yield read(chunk)
    else {
      begin = Buffer.concat([begin, chunk])
      if (begin.length < 2) continue
      read = decoderOf(begin)
      yield read(begin)
    }
  }
}

/** Detects UTF-16 by its byte order mark, or by the zero beside the `<` that a part begins with. [XML 1.0, F.1] */
function decoderOf([first, second]: Buffer): (chunk: Buffer) => string {
  const isLittle = (first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)
  if (isLittle || isBig) {
    const wide = new TextDecoder(isLittle ? 'utf-16le' : 'utf-16be')
    return chunk => wide.decode(chunk, { stream: true })
  }
  // For UTF-8 it takes a tenth of the time of a TextDecoder.
  const decoder = new StringDecoder('utf8')
  return chunk => decoder.write(chunk)
}

const TRANSPARENT = new Set(['AlternateContent', 'Fallback'])

/**
 * Resolves prefixes to namespaces, element by element; '' is the prefix of names without one. [Namespaces in XML 1.0, 6]
 */
function createPrefixes() {
  const current = new Map<string, string>([['', '']])
  /** The former namespaces of redeclared prefixes, the outermost element first. */
  const outer: { depth: number; prefix: string; before: string | undefined }[] = []
  return {
    declare(attributes: { [name: string]: string }, depth: number): void {
      for (const name in attributes) {
        if (!name.startsWith('xmlns') || (name.length > 5 && name[5] !== ':')) continue
        const prefix = name.slice(6)
        outer.push({ depth, prefix, before: current.get(prefix) })
        current.set(prefix, attributes[name] as string)
      }
    },
    resolve: (prefix: string) => current.get(prefix),
    leave(depth: number): void {
      for (let last = outer.at(-1); last?.depth === depth; last = outer.at(-1)) {
        if (last.before === undefined) current.delete(last.prefix)
        else current.set(last.prefix, last.before)
        outer.pop()
      }
    },
  }
}

/** Reads a small part as a whole. */
export async function readWhole(...part: Parameters<typeof readXml>): Promise<void> {
  for await (const _ of readXml(...part)) {
    // Nothing to do between the pieces.
  }
}
