import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { offerUndo } from '../../parts/undo.ts'
import type { Target, Task } from './task.ts'
import { showChanges } from './task-queries.ts'
import { useTaskTexts } from './texts.ts'

/** Requests at a time: a server answers these at once, and a hundred tasks take a second or two. */
const AT_ONCE = 4

interface Assignment {
  tasks: readonly Task[]
  target: Target
  /** The name of the target. */
  to: string
}

const fieldsOf = (task: Task, target: Target): Target =>
  Object.fromEntries(Object.keys(target).map(name => [name, task[name as keyof Target]]))

const isChanged = (task: Task, target: Target) =>
  Object.entries(target).some(([name, value]) => task[name as keyof Target] !== value)

async function changeEach(changes: ReadonlyMap<string, Target>): Promise<{ done: string[]; error: unknown }> {
  const waiting = [...changes]
  const done: string[] = []
  let error: unknown = null
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [id, body] = next
      try {
        await answered(api.PATCH('/api/v3/task/{id}', { params: { path: { id } }, body }))
        done.push(id)
      } catch (cause) {
        error ??= cause
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { done, error }
}

/** Gives tasks to somebody: shown at once, sent one by one, and offered to be undone together. */
export function useAssign() {
  const queries = useQueryClient()
  const t = useTaskTexts()
  const [error, setError] = useState<unknown>(null)
  const { mutate, isPending } = useMutation({
    mutationFn: async ({ tasks, target, to }: Assignment) => {
      const moved = tasks.filter(task => isChanged(task, target))
      const before = new Map(moved.map(task => [task._id, fieldsOf(task, target)]))
      const after = new Map(moved.map(task => [task._id, target]))
      if (moved.length === 0) return
      setError(null)
      showChanges(queries, after)
      const { done, error } = await changeEach(after)
      const undone = new Map([...before].filter(([id]) => !done.includes(id)))
      showChanges(queries, undone)
      setError(error)
      if (done.length > 0) {
        const [only] = moved.filter(({ _id }) => done.includes(_id))
        const text = done.length === 1 && only ? t.assigned(only.name, to) : t.assignedMany(done.length, to)
        offerUndo({
          text,
          undo: async () => {
            const back = new Map([...before].filter(([id]) => done.includes(id)))
            const { error } = await changeEach(back)
            if (error) throw error
          },
        })
      }
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['tasks'] }),
  })
  return { assign: mutate, isPending, error, forget: () => setError(null) }
}
