import { useSyncExternalStore } from 'react'

/** The driver and the task of a subject. A part that loads after the map fills them in (read-work.tsx). */
export interface Work {
  driver: string | null
  /** The task under way, else the next open one of today. */
  task: { _id: string; name: string; isUnderWay: boolean; startTime: string | null } | null
}

const NONE: ReadonlyMap<string, Work> = new Map()
let current = NONE
const listeners = new Set<() => void>()

export function setWork(work: ReadonlyMap<string, Work> | null): void {
  current = work ?? NONE
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useWork = (subjectId: string): Work | undefined =>
  useSyncExternalStore(subscribe, () => current.get(subjectId))

/** The driver and the task of a subject in a line of a list. */
export const sayWork = (work: Work | undefined): string =>
  [work?.driver, work?.task?.name].filter(Boolean).join(' · ')
