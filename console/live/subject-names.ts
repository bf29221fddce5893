import { useQueries } from '@tanstack/react-query'
import { readName } from '../api/lists.ts'
import { useWorkspace } from '../api/workspace.ts'
import { permissionTo } from '../kinds.ts'
import { useName } from '../parts/records.ts'
import { useLive } from './live.tsx'

const LIST_OF = { device: 'devices', user: 'users', vehicle: 'vehicles' } as const

interface Subject {
  type: keyof typeof LIST_OF
  id: string
}

/**
 * The names of subjects: from the live map, or from the records for subjects that its filters exclude. Null means that the
 * role may not know the name, undefined that the request is running.
 */
export function useNames(subjects: readonly Subject[]): (string | null | undefined)[] {
  const { fleet, known, state } = useLive()
  const { may } = useWorkspace()
  return useQueries({
    queries: subjects.map(({ type, id }) => {
      const live = fleet.find(id)?.name
      return {
        queryKey: ['name', type, id, live],
        enabled: live !== undefined || known || state.name === 'forbidden',
        queryFn: async () => {
          if (live !== undefined) return live
          const list = LIST_OF[type]
          return may(permissionTo('view', list)) ? readName(list, id) : null
        },
      }
    }),
    combine: results => results.map(({ data, error }) => (error ? null : data)),
  })
}

/** The name of one subject, from the live map or its record. */
export function useSubjectName(type: 'device' | 'user', id: string): string {
  const { fleet } = useLive()
  const live = fleet.find(id)?.name
  const recorded = useName(LIST_OF[type], live === undefined ? id : null)
  return live ?? recorded
}
