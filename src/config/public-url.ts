import type { Reader } from './reader.ts'

/** The origin at which people reach this server, such as https://fleet.example.com; undefined if nobody has said it. */
export function readPublicUrl({ env, problems }: Reader): string | undefined {
  const given = env.PUBLIC_URL
  if (given === undefined) return undefined
  const url = URL.canParse(given) ? new URL(given) : null
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  const isOrigin = url !== null && isWeb && [url.origin, `${url.origin}/`].includes(given.toLowerCase())
  if (isOrigin) return url.origin
  problems.push(
    `PUBLIC_URL has to be an address without a path such as https://fleet.example.com, it is "${given}"`,
  )
  return undefined
}
