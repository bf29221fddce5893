/** A file with its name, to be kept. [RFC 6266] With the name in ASCII for whoever knows no other. */
export function disposition(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|[%"\\]/g, '_')
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
