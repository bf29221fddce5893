import type { Basemap } from '../../basemap.ts'
import type { StaticFile } from './files.ts'

export const BASEMAP_PATH = '/basemap.pmtiles'

/** A page as it is sent: its nonce is another one each time. */
export type Page = (nonce: string) => string

/** The page with what it has to know of this server: a browser runs no script that stands in it. */
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
 * What a page may load: what is ours, and tiles from where `BASEMAP` says. No script in the page itself, no eval; of styles
 * in the page those that our own scripts add, which know the nonce.
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
