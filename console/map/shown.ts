/** What the server says of its map (BASEMAP). */
export type Shown = { kind: 'world' } | { kind: 'tiles' | 'file'; url: string; vector: boolean }

export function readShown(): Shown {
  const content = document.querySelector<HTMLMetaElement>('meta[name="basemap"]')?.content ?? ''
  return content.startsWith('{') ? (JSON.parse(content) as Shown) : { kind: 'world' }
}
