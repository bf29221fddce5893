import type { About } from '../../basemap/tiles.ts'
import type { SignInMethods } from '../sign-in-methods/methods.ts'
import type { StaticFile } from './files.ts'

/** Writes a page. Each response has a new nonce, and the basemap as far as it is known then. */
export type Page = (nonce: string, basemap: About | null) => string

/** The page with the settings of this server. They stand in attributes, because browsers run no inline script here. */
export function createPage(template: StaticFile, signIn: SignInMethods): Page {
  const html = template.bytes
    .toString()
    .replace('content="SIGN_IN"', () => `content="${toAttribute(signIn)}"`)
  return (nonce, basemap) =>
    html
      .replace('content="NONCE"', `content="${nonce}"`)
      .replace('content="BASEMAP"', () => `content="${toAttribute(basemap)}"`)
}

const toAttribute = (value: object | null) =>
  JSON.stringify(value).replaceAll('&', '&amp;').replaceAll('"', '&quot;')

/**
 * The sources that a page may load from: this server alone. No inline script, no eval; inline styles only from our own scripts, which
 * know the nonce.
 */
export function writePolicy(nonce: string): string {
  return [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self' 'nonce-${nonce}'`,
    `font-src 'self'`,
    `img-src 'self' data: blob:`,
    `connect-src 'self'`,
    `worker-src 'self'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ')
}
