import type { Api } from './api.ts'

/** A device with the key for its connection. */
export interface Credentials {
  _id: string
  name: string
  key: string
}

const PAGE = 500
/** The number of simultaneous requests. */
const AT_ONCE = 8

/** Names for `count` vehicles: the recorded ones first, then each again with a number. */
export function nameVehicles(recorded: readonly string[], count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const name = recorded[index % recorded.length] as string
    const round = Math.floor(index / recorded.length)
    return round === 0 ? name : `${name}-${round + 1}`
  })
}

/** Prepares a device for each name, in order: an existing device gets a new key, the others are created. */
export async function prepareDevices(
  api: Api,
  names: readonly string[],
  onReady: (ready: number) => void = () => {},
): Promise<{ devices: Credentials[]; created: number }> {
  const known = await listDevicesByName(api)
  const devices: Credentials[] = []
  let next = 0
  let ready = 0
  const work = async () => {
    for (let index = next++; index < names.length; index = next++) {
      const name = names[index] as string
      const id = known.get(name)
      const { data } = id
        ? await api.call<{ data: Credentials }>('POST', `/device/${id}/rotate-key`)
        : await api.call<{ data: Credentials }>('POST', '/device', { name })
      devices[index] = data
      onReady(++ready)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { devices, created: names.filter(name => !known.has(name)).length }
}

async function listDevicesByName(api: Api): Promise<Map<string, string>> {
  const known = new Map<string, string>()
  let cursor: string | null = null
  do {
    const query: string = cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''
    const page: { data: { _id: string; name: string }[]; pagination: { nextCursor: string | null } } =
      await api.call('GET', `/devices?limit=${PAGE}${query}`)
    for (const { _id, name } of page.data) if (!known.has(name)) known.set(name, _id)
    cursor = page.pagination.nextCursor
  } while (cursor)
  return known
}
