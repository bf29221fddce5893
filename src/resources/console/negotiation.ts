export type Encoding = 'br' | 'gzip'

/** The available encoding that a client prefers to no encoding; the first of several equal ones. [RFC 9110, 12.5.3] */
export function chooseEncoding(header: string, available: readonly Encoding[]): Encoding | null {
  const qualities = new Map(
    header
      .toLowerCase()
      .split(',')
      .map(part => {
        const [coding = '', ...parameters] = part.split(';').map(one => one.trim())
        const quality = parameters.find(one => one.startsWith('q='))
        return [coding, quality === undefined ? 1 : Number(quality.slice(2)) || 0]
      }),
  )
  const qualityOf = (coding: string) => qualities.get(coding) ?? qualities.get('*') ?? 0
  const least = qualities.get('identity') ?? 0
  const [best = null] = available
    .filter(coding => qualityOf(coding) > 0 && qualityOf(coding) >= least)
    .toSorted((one, other) => qualityOf(other) - qualityOf(one))
  return best
}

/** Whether `If-None-Match` contains the file's ETag, compared weakly. [RFC 9110, 13.1.2] */
export function isKnown(header: string, etag: string): boolean {
  const opaque = etag.replace('W/', '')
  return header.trim() === '*' || [...header.matchAll(/"[^"]*"/g)].some(([tag]) => tag === opaque)
}
