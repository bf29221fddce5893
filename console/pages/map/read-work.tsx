import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { useNow } from '../../live/live.tsx'
import { stepDay } from '../../parts/days.ts'
import { useFormat } from '../../texts/texts.tsx'
import { readDay, useFlows, usePeople, useVehicles } from '../tasks/task-queries.ts'
import { setWork } from './subject-work.ts'
import { workOfSubjects } from './work-of-subjects.ts'

/** The next task of a subject is another one when its time has come. */
const TICK_MS = 30_000
/** The live map has one socket, which carries positions: tasks are read again. */
const EVERY_MS = 30_000

/** Reads the tasks of today for the live map. */
export default function ReadWork(): null {
  const format = useFormat()
  const now = useNow(TICK_MS)
  const today = format.dateOf(now)
  const { data: day } = useQuery({
    queryKey: ['tasks', 'today', today],
    meta: { everyMs: EVERY_MS },
    queryFn: ({ signal }) => readDay(format.startOf(today), format.startOf(stepDay(today, 1)), '', signal),
  })
  const [flows, people, vehicles] = [useFlows(), usePeople(), useVehicles()]
  const work = useMemo(
    () => day && workOfSubjects(day.tasks, { flows, people, vehicles }, now),
    [day, flows, people, vehicles, now],
  )
  useEffect(() => setWork(work ?? null), [work])
  useEffect(() => () => setWork(null), [])
  return null
}
