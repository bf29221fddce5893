import { taskTexts as de } from '../../texts/de/tasks.ts'
import { taskTexts as en } from '../../texts/en/tasks.ts'
import { useOwnTexts } from '../../texts/texts.tsx'
import type { Flow } from './task.ts'

const TEXTS = { en, de }

export const useTaskTexts = () => useOwnTexts(TEXTS)

/** The label of a status: the flow's own words, and for statuses of every organization those of the page's language. */
export function useStatusLabel(): (status: string, flow: Flow | undefined) => string {
  const { statuses } = useTaskTexts()
  return (status, flow) => {
    const label = flow?.steps.find(step => step.status === status)?.label
    const known = Object.hasOwn(statuses, status) ? statuses[status as keyof typeof statuses] : undefined
    const usual = Object.hasOwn(en.statuses, status)
      ? en.statuses[status as keyof typeof statuses]
      : undefined
    return (label === usual ? known : label) ?? known ?? status
  }
}
