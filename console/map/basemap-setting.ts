/** The server's setting BASEMAP, which it writes into the page. */
export type BasemapSetting = { kind: 'world' } | { kind: 'tiles' | 'file'; url: string; vector: boolean }

export function readBasemapSetting(): BasemapSetting {
  const content = document.querySelector<HTMLMetaElement>('meta[name="basemap"]')?.content ?? ''
  return content.startsWith('{') ? (JSON.parse(content) as BasemapSetting) : { kind: 'world' }
}
