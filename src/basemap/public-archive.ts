import { createPublicLookup, isPublicAddress, literalAddress } from '../../fair/public-addresses.ts'
import { createDownloader } from './download.ts'
import { createRemoteArchive } from './remote.ts'
import type { About } from './tiles.ts'

/** An archive that somebody names in the console is asked at public addresses alone, whatever its name resolves to later. */
export const publicLookup = createPublicLookup()

/** Whether a text is the address of an archive that may be chosen in the console: `https`, and not a private address. */
export function isPublicArchive(text: string): boolean {
  if (!URL.canParse(text) || /[\s\0]/.test(text)) return false
  const url = new URL(text)
  const literal = literalAddress(url)
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') return false
  return url.pathname.endsWith('.pmtiles') && (literal === null || isPublicAddress(literal))
}

/** Reads what an archive is like. Throws where it cannot be read. */
export async function examineArchive(url: string): Promise<About> {
  const downloader = createDownloader(1, publicLookup)
  try {
    return await createRemoteArchive(url, downloader).learn()
  } finally {
    await downloader.close()
  }
}
