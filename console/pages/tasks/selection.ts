import { useCallback, useMemo, useState } from 'react'

/** The tasks that are selected on a page, by their identifiers. Those that are no longer shown are not selected any more. */
export function useSelection(shown: readonly string[]) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  /** Where a selection of several begins that ends with a click with the Shift key. */
  const [anchor, setAnchor] = useState<string | null>(null)
  const ids = useMemo(() => new Set(shown.filter(id => chosen.has(id))), [shown, chosen])
  const toggle = useCallback((id: string) => {
    setAnchor(id)
    setChosen(before => {
      const next = new Set(before)
      if (!next.delete(id)) next.add(id)
      return next
    })
  }, [])
  const extend = (id: string) => {
    const [from, to] = [shown.indexOf(anchor ?? id), shown.indexOf(id)].sort((one, other) => one - other)
    setChosen(before => new Set([...before, ...shown.slice(from, (to ?? 0) + 1)]))
  }
  return {
    ids,
    toggle,
    extend,
    /** Selects this one alone, unless it is one of several: they are dragged together. */
    ensure: (id: string): ReadonlySet<string> => (ids.has(id) ? ids : new Set([id])),
    clear: useCallback(() => setChosen(new Set()), []),
  }
}

export type Selection = ReturnType<typeof useSelection>
