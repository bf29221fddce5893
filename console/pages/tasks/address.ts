import { useSearchParams } from 'react-router'
import { isDay } from '../../parts/days.ts'
import { urls } from '../../urls.ts'

export const VIEWS = ['list', 'timeline', 'map'] as const
export type View = (typeof VIEWS)[number]

interface TasksAddress {
  day: string
  teamId: string
  search: string
  view: View
}

/** In a window narrower than this, the blocks of a timeline are too small for names: the list comes first. */
const WIDE = window.matchMedia('(min-width: 60em)')

/** The day, the team, the filter and the view, which are in the address. Today and the usual view are not written down. */
export function useTasksAddress(today: string) {
  const [params, setParams] = useSearchParams()
  const usual: View = WIDE.matches ? 'timeline' : 'list'
  const day = params.get('day') ?? ''
  const address: TasksAddress = {
    day: isDay(day) ? day : today,
    teamId: params.get('team') ?? '',
    search: params.get('search') ?? '',
    view: VIEWS.find(view => view === params.get('view')) ?? usual,
  }
  const change = (next: Partial<TasksAddress>) =>
    setParams(
      before => {
        const { day, teamId, search, view } = { ...address, ...next }
        const write = (name: string, value: string, isUsual: boolean) =>
          isUsual ? before.delete(name) : before.set(name, value)
        write('day', day, day === today)
        write('team', teamId, teamId === '')
        write('search', search, search === '')
        write('view', view, view === usual)
        return before
      },
      // The back button leads from day to day. Synchronously: a transition would overwrite the letters typed meanwhile.
      { replace: next.day === undefined, flushSync: true },
    )
  const at = (to: string) => ({ pathname: `${urls.list('tasks')}${to}`, search: params.toString() })
  return [address, change, at] as const
}
