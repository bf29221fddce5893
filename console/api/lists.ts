import type { KindName } from '../kinds.ts'
import { answered, api } from './client.ts'
import type { paths } from './interface.d.ts'

/** The API's limit for search texts. */
export const MAX_SEARCH = 200

interface Query {
  search?: string
  /** Identifiers, separated by commas. */
  _id?: string
  limit?: number
  sort?: 'name'
}

type Listed<Kind extends KindName> =
  paths[`/api/v3/${Kind}`]['get']['responses'][200]['content']['application/json']['data']

/** Reads a list of the API. */
export async function readList<Kind extends KindName>(
  kind: Kind,
  query: Query,
  signal?: AbortSignal,
): Promise<Listed<Kind>> {
  // Every list takes these parameters: one of them stands for all.
  const path = `/api/v3/${kind}` as '/api/v3/hubs'
  const { data } = await answered(api.GET(path, { params: { query }, signal }))
  return data as Listed<Kind>
}

/**
 * A record by its identifier, or null if it does not exist. A list answers that without a failed request, which the browser
 * would report: an old address may name a record that is gone.
 */
export async function findRecord<Kind extends KindName>(
  kind: Kind,
  id: string,
): Promise<Listed<Kind>[number] | null> {
  const [record] = (await readList(kind, { _id: id, limit: 1 })) as Listed<Kind>[number][]
  return record ?? null
}

/** This many identifiers fit into an address with room to spare. */
const MAX_IDS = 100
/**
 * A table that scrolls asks for many names within this time: one request fetches them all, and the delay is not noticeable.
 */
const GATHER_MS = 30

function gatherNames(kind: KindName) {
  let gathered: { ids: Set<string>; names: Promise<ReadonlyMap<string, string>> } | null = null
  const gather = () => {
    const ids = new Set<string>()
    const names = new Promise(resolve => setTimeout(resolve, GATHER_MS)).then(async () => {
      if (gathered?.ids === ids) gathered = null
      const query = { _id: [...ids].join(), limit: ids.size }
      const found: readonly { _id: string; name: string }[] = await readList(kind, query)
      return new Map(found.map(({ _id, name }) => [_id, name]))
    })
    return { ids, names }
  }
  return async (id: string): Promise<string | null> => {
    const wanted = id.toLowerCase()
    if (!gathered || gathered.ids.size === MAX_IDS) gathered = gather()
    gathered.ids.add(wanted)
    return (await gathered.names).get(wanted) ?? null
  }
}

const names = new Map<KindName, ReturnType<typeof gatherNames>>()

/** Reads the name of a record. Null means that it does not exist, or that the role must not see it. */
export function readName(kind: KindName, id: string): Promise<string | null> {
  const read = names.get(kind) ?? gatherNames(kind)
  names.set(kind, read)
  return read(id)
}
