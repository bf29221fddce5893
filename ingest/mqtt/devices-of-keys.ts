import type { ChangeEvent, Database } from '../../db/client.ts'
import { listDeviceSubjects } from '../../db/queries/devices.ts'
import { findCallers } from '../../db/queries/sessions.ts'
import { maySend, type Publisher } from '../identity/authenticate.ts'

export type Key = Extract<Publisher, { kind: 'user' }>

/** Each takes about 200 bytes. */
const MAX_KEPT = 50_000

/** Which kinds of changes decide neither what a key may do nor which devices there are. */
const WITHOUT_EFFECT: ReadonlySet<ChangeEvent['kind']> = new Set<ChangeEvent['kind']>([
  'record',
  'jobs',
  'tracking-link',
  'command',
])

/**
 * The subjects of devices for which API keys send. They are remembered by organization until anything changes there that
 * decides what a key may do: changes of other organizations cost nothing.
 */
export function createDevicesOfKeys(db: Pick<Database, 'onChange' | 'signIn' | 'tenant'>) {
  /** By organization, and there by key and device. */
  const kept = new Map<string, Map<string, number>>()
  let size = 0

  function forget(organizationId: string): void {
    size -= kept.get(organizationId)?.size ?? 0
    kept.delete(organizationId)
  }

  const stopListening = db.onChange(event => {
    if (WITHOUT_EFFECT.has(event.kind)) return
    if ('organizationId' in event) return forget(event.organizationId)
    // A session names no organization, and after a resync anything may have changed.
    kept.clear()
    size = 0
  })

  function rememberedOf(organizationId: string): Map<string, number> {
    const known = kept.get(organizationId) ?? new Map<string, number>()
    kept.set(organizationId, known)
    return known
  }

  /** The subjects of the devices that the key may send for now. */
  async function find(key: Key, ids: readonly string[]): Promise<Map<string, number>> {
    const { organizationId } = key
    const remembered = rememberedOf(organizationId)
    const found = new Map<string, number>()
    const asked = ids.filter(id => {
      const subject = remembered.get(`${key.id} ${id}`)
      if (subject !== undefined) found.set(id, subject)
      return subject === undefined
    })
    if (asked.length === 0) return found
    const caller = (await findCallers(db.signIn, [key.sessionId])).get(key.sessionId)
    if (!caller || !maySend(caller)) throw new Error('The API key may not send any more')
    const read = await db.tenant(organizationId, tx => listDeviceSubjects(tx, asked, caller.hubIds))
    for (const [id, subject] of read) {
      found.set(id, subject)
      const name = `${key.id} ${id}`
      // Another map stands there if something has changed meanwhile.
      if (kept.get(organizationId) !== remembered || size >= MAX_KEPT || remembered.has(name)) continue
      remembered.set(name, subject)
      size++
    }
    return found
  }
  return { find, close: stopListening }
}
