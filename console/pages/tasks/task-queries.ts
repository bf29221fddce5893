import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { answered, api } from '../../api/client.ts'
import { readList } from '../../api/lists.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { useWatched, type Watched } from '../../live/watching.ts'
import { isAwaited } from '../../parts/awaited.ts'
import { stepDay } from '../../parts/days.ts'
import { useFormat } from '../../texts/texts.tsx'
import type { Flow, Person, Task, Vehicle } from './task.ts'

const PAGE = 500
/** A day with more tasks shows its first ones, and says so. Drawing these takes a third of a second. */
const MAX_TASKS = 2_000
const EVERY_MS = 60_000

export interface Day {
  tasks: Task[]
  /** Whether the day has more than can be shown. */
  isCut: boolean
}

const TASKS = 'tasks'
const dayKey = (day: string, teamId: string) => [TASKS, 'day', day, teamId]

export async function readDay(from: number, to: number, teamId: string, signal: AbortSignal): Promise<Day> {
  const tasks: Task[] = []
  let cursor: string | undefined
  do {
    const query = {
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      ...(teamId && { teamId }),
      sort: 'startTime' as const,
      limit: PAGE,
      ...(cursor && { cursor }),
    }
    const page = await answered(api.GET('/api/v3/tasks', { params: { query }, signal }))
    tasks.push(...page.data)
    cursor = page.pagination.nextCursor ?? undefined
  } while (cursor && tasks.length < MAX_TASKS)
  return { tasks, isCut: cursor !== undefined }
}

/** The tasks that begin on a day, in the order of their beginning. What others change arrives live. */
export function useDay(day: string, teamId: string) {
  const queries = useQueryClient()
  const format = useFormat()
  const [from, to] = [format.startOf(day), format.startOf(stepDay(day, 1))]
  const key = dayKey(day, teamId)
  useWatched('tasks', {
    onWatching: () => void queries.invalidateQueries({ queryKey: [TASKS] }),
    onChange: message => {
      if (message.type !== 'task') return
      queries.setQueryData<Day>(key, now => now && merge(now, message, { from, to, teamId }))
      const { task } = message
      if ('name' in task) queries.setQueryData([TASKS, task._id], task)
      else void queries.invalidateQueries({ queryKey: [TASKS, task._id] })
    },
  })
  return useQuery({
    queryKey: key,
    meta: { everyMs: EVERY_MS },
    queryFn: ({ signal }) => readDay(from, to, teamId, signal),
  })
}

interface Within {
  from: number
  to: number
  teamId: string
}

/** The day with a changed task in its place, or without one that is gone or on another day now. */
function merge(day: Day, { task }: Extract<Watched, { type: 'task' }>, { from, to, teamId }: Within): Day {
  const others = day.tasks.filter(({ _id }) => _id !== task._id)
  if (!('name' in task)) return { ...day, tasks: others }
  const start = Date.parse(task.startTime ?? '')
  const isHere = start >= from && start < to && (teamId === '' || task.teamId === teamId)
  return { ...day, tasks: isHere ? inOrder([...others, task]) : others }
}

const inOrder = (tasks: Task[]): Task[] =>
  tasks.sort(
    (one, other) =>
      Date.parse(one.startTime ?? '') - Date.parse(other.startTime ?? '') || (one._id < other._id ? -1 : 1),
  )

/** Shows changed fields of tasks on every day that is loaded, before the server has answered. */
export function showChanges(queries: QueryClient, changes: ReadonlyMap<string, Partial<Task>>): void {
  const change = (task: Task): Task => ({ ...task, ...changes.get(task._id) })
  queries.setQueriesData<Day>(
    { queryKey: [TASKS, 'day'] },
    day => day && { ...day, tasks: day.tasks.map(change) },
  )
  for (const id of changes.keys()) queries.setQueryData<Task>([TASKS, id], task => task && change(task))
}

const path = (id: string) => ({ params: { path: { id } } })
export const readTask = async (id: string): Promise<Task> =>
  (await answered(api.GET('/api/v3/task/{id}', path(id)))).data

/** A whole list of few records, which most pages about tasks need. An organization with more sees its first 500. */
function useWhole<T>(name: string, permission: string, read: (signal: AbortSignal) => Promise<T[]>): T[] {
  const { may } = useWorkspace()
  const query = useQuery({
    queryKey: [name, 'whole'],
    enabled: may(permission),
    meta: { everyMs: EVERY_MS },
    queryFn: ({ signal }) => read(signal),
  })
  return query.data ?? ((isAwaited(query) ? AWAITED : NONE) as T[])
}

const NONE: unknown[] = []
const AWAITED: unknown[] = []
/** Whether one of the whole lists has come, or will not come. */
export const isRead = (list: readonly unknown[]): boolean => list !== AWAITED
const readVehicles = (signal: AbortSignal) => readList('vehicles', { limit: PAGE, sort: 'name' }, signal)
const readPeople = async (signal: AbortSignal) => {
  const query = { limit: PAGE, sort: 'name' as const }
  return (await answered(api.GET('/api/v3/tasks/assignees', { params: { query }, signal }))).data
}

export const useVehicles = (): Vehicle[] => useWhole('vehicles', 'view/vehicle', readVehicles)
export const usePeople = (): Person[] => useWhole('assignees', 'view/task', readPeople)
export const useTeams = () =>
  useWhole('teams', 'view/team', signal => readList('teams', { limit: PAGE, sort: 'name' }, signal))
export const useFlows = (): Flow[] =>
  useWhole('flows', 'view/flow', async signal => {
    const query = { limit: PAGE }
    return (await answered(api.GET('/api/v3/flows', { params: { query }, signal }))).data
  })
