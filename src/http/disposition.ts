/**
 * The header of a file that is to be saved under this name. [RFC 6266] The first name is ASCII, for clients that know
 * only that.
 */
export function disposition(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|[%"\\]/g, '_')
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
