/** The part of an answer that a model is given: about 10,000 tokens. */
export const MAX_CHARACTERS = 40_000

interface Page {
  data: unknown[]
  pagination?: { nextCursor?: string | null }
}

const isPage = (answer: unknown): answer is Page =>
  typeof answer === 'object' && answer !== null && Array.isArray((answer as Page).data)

/** An answer as text of at most `max` characters. Of a list as many whole records as fit, and how to read the rest. */
export function boundAnswer(text: string, max = MAX_CHARACTERS): string {
  if (text.length <= max) return text
  const answer = parse(text)
  if (!isPage(answer)) return `${text.slice(0, max)}\n… ${text.length - max} more characters are left out.`
  const records = answer.data.map(record => JSON.stringify(record))
  let [count, length] = [0, 0]
  while (count < records.length && length + (records[count]?.length ?? 0) < max - 500) {
    length += (records[count]?.length ?? 0) + 1
    count++
  }
  if (count === 0) return `${text.slice(0, max)}\n… ${text.length - max} more characters are left out.`
  const rest = `Only the first ${count} of ${records.length} records of this page fit. Ask again with limit ${count}: its nextCursor leads to the rest.`
  return `{"data":[${records.slice(0, count).join(',')}],"note":${JSON.stringify(rest)}}`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The text of a body, of which no more than so many bytes are read; null if there are more. */
export async function readBounded(response: Response, maxBytes: number): Promise<string | null> {
  if (!response.body) return ''
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += piece.length
    if (bytes > maxBytes) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
