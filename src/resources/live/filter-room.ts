import { rootOf } from '../../../fair/roots.ts'
import type { Filter } from '../../../stream/live/view.ts'
import { MAX_FILTER_IDS } from './limits.ts'

/** The room for the identifiers that filters name. The organizations of a root share theirs. */
export function createFilterRoom() {
  const taken = new Map<string, number>()
  const held = new Map<object, { root: string; ids: number }>()

  function forget(socket: object): void {
    const place = held.get(socket)
    if (!place) return
    held.delete(socket)
    const left = (taken.get(place.root) ?? 0) - place.ids
    if (left > 0) taken.set(place.root, left)
    else taken.delete(place.root)
  }

  return {
    /** Makes room for the socket's next filter instead of its last one. Returns false, and changes nothing, where there is none. */
    take(socket: object, organizationId: string, filter: Filter): boolean {
      const root = rootOf(organizationId)
      const ids = countIds(filter)
      const own = held.get(socket)?.ids ?? 0
      if (ids > own && (taken.get(root) ?? 0) - own + ids > MAX_FILTER_IDS) return false
      forget(socket)
      if (ids === 0) return true
      held.set(socket, { root, ids })
      taken.set(root, (taken.get(root) ?? 0) + ids)
      return true
    },
    forget,
  }
}

const countIds = ({ subjectIds, hubIds, teamIds }: Filter): number =>
  (subjectIds?.length ?? 0) + (hubIds?.length ?? 0) + (teamIds?.length ?? 0)
