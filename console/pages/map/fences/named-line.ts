import { type FocusEvent, useRef } from 'react'
import { Failure } from '../../../api/failure.ts'
import { CORNERS } from './draft.ts'

/** How a corner is named, by the server and here. */
const NAMED = /(?:vertex|line|zeile) (\d+)/i

/** The line of the corner that is said to be wrong: selected when its field has the focus, once. */
export function useNamedLine() {
  const named = useRef<number | null>(null)
  return {
    hear(error: unknown): void {
      const said = error instanceof Failure ? error.fields[CORNERS] : undefined
      const [, line] = NAMED.exec(said ?? '') ?? []
      named.current = line === undefined ? null : Number(line)
    },
    onFocus({ target }: FocusEvent): void {
      if (named.current === null || !(target instanceof HTMLTextAreaElement)) return
      selectLine(target, named.current)
      named.current = null
    },
  }
}

/** The first is 1; an empty one does not count. */
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
