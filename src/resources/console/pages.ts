import type { Basemap } from '../../basemap.ts'
import type { StaticFile } from './files.ts'

export const BASEMAP_PATH = '/basemap.pmtiles'

/** Writes a page; each response has a new nonce. */
export type Page = (nonce: string) => string

/**
 * The page with the settings of this server. They stand in an attribute, because browsers run no inline script here.
 */
export function createPage(template: StaticFile, basemap: Basemap): Page {
  const shown =
    basemap.kind === 'world'
      ? { kind: 'world' }
      : {
          kind: basemap.kind,
          url: basemap.kind === 'tiles' ? basemap.url : BASEMAP_PATH,
          vector: basemap.vector,
        }
  const content = JSON.stringify(shown).replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  const html = template.bytes.toString().replace('content="BASEMAP"', () => `content="${content}"`)
  return nonce => html.replace('content="NONCE"', `content="${nonce}"`)
}

/**
 * The sources that a page may load from: this server, and tiles from `BASEMAP`. No inline script, no eval; inline
 * styles only from our own scripts, which know the nonce.
 */
export function writePolicy(basemap: Basemap, nonce: string): string {
  const tiles = basemap.kind === 'tiles' ? ` ${new URL(basemap.url).origin}` : ''
  return [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self' data: blob:${tiles}`,
    `connect-src 'self'${tiles}`,
    `worker-src 'self'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ')
}
