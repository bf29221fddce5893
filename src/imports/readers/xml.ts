import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { SaxesParser } from 'saxes'
import { tooLarge, unimportable } from '../file-error.ts'
import { MAX_CELL_CHARACTERS } from '../limits.ts'
import { explain } from './zip.ts'

/** What an element says; names are without the prefix of their namespace. */
export interface XmlEvents {
  open?(name: string, attributes: { [name: string]: string }): void
  close?(name: string): void
  text?(text: string): void
}

/** Elements within elements; a sheet has six levels. */
const MAX_DEPTH = 64

const local = (name: string) => name.slice(name.indexOf(':') + 1)

/**
 * Reads XML piece by piece, and hands back control after each: `for await (const _ of readXml(…))`. A document that
 * declares a type is refused, so there are no entities to expand and nothing to fetch.
 */
export async function* readXml(stream: Readable, where: string, events: XmlEvents): AsyncGenerator<void> {
  const parser = new SaxesParser()
  let waiting = 0
  let depth = 0
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
    events.open?.(local(name), attributes)
  })
  parser.on('closetag', ({ name }) => {
    waiting = 0
    depth--
    events.close?.(local(name))
  })
  if (events.text) {
    parser.on('text', text => events.text?.(text))
    parser.on('cdata', text => events.text?.(text))
  }
  const decoder = new StringDecoder('utf8')
  try {
    let isFirst = true
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (isFirst && ((chunk[0] === 0xff && chunk[1] === 0xfe) || (chunk[0] === 0xfe && chunk[1] === 0xff))) {
        throw unimportable(`${where} is in UTF-16: save the workbook anew.`)
      }
      isFirst = false
      const text = decoder.write(chunk)
      waiting += text.length
      parser.write(text)
      // Of what has no end the parser keeps all.
      if (waiting > MAX_CELL_CHARACTERS + chunk.length) {
        throw tooLarge(
          `${where} holds a text of more than ${MAX_CELL_CHARACTERS.toLocaleString('en')} characters.`,
        )
      }
      yield
    }
    parser.write(decoder.end())
    parser.close()
    yield
  } catch (error) {
    throw explain(error)
  } finally {
    stream.destroy()
  }
}

/** Reads all of a small part. */
export async function readWhole(stream: Readable, where: string, events: XmlEvents): Promise<void> {
  for await (const _ of readXml(stream, where, events)) {
    // Nothing is between its pieces.
  }
}
