import { type FocusEvent, useRef } from 'react'
import { Failure } from '../../../api/failure.ts'
import { CORNERS } from './draft.ts'

/** Selects the line of the corner that an error names, once, when its field gets the focus. */
export function useNamedLine() {
  const named = useRef<number | null>(null)
  return {
    hear(error: unknown): void {
      const problem = error instanceof Failure ? error.fields[CORNERS] : undefined
      named.current = problem?.params?.vertices?.[0] ?? null
    },
    onFocus({ target }: FocusEvent): void {
      if (named.current === null || !(target instanceof HTMLTextAreaElement)) return
      selectLine(target, named.current)
      named.current = null
    },
  }
}

/** Counts from 1, without empty lines. */
function selectLine(area: HTMLTextAreaElement, wanted: number): void {
  const lines = area.value.split('\n')
  let [counted, from] = [0, 0]
  for (const [index, line] of lines.entries()) {
    if (line.trim() !== '') counted++
    if (counted === wanted) {
      area.setSelectionRange(from, from + line.length)
      area.scrollTop = (area.scrollHeight / lines.length) * (index - 1)
      return
    }
    from += line.length + 1
  }
}
