import { useEffect, useRef } from 'react'
import { getPreferences } from '../preferences.ts'

type Actions = Readonly<Record<string, (() => void) | undefined>>

/** Somebody types there, or chooses from a list by the first letters of a name. */
const TYPED_INTO = 'input, textarea, select, [contenteditable=true], [role=menu], [role=application]'
const OPEN = '.modal-overlay, .popover'

/** Runs actions by single keys, while nobody types and no dialog or menu is open. Everybody can switch such keys off. */
export function useSingleKeys(actions: Actions): void {
  const latest = useRef(actions)
  latest.current = actions
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing)
        return
      const run = latest.current[event.key]
      if (!run || !getPreferences().singleKeys) return
      if ((event.target as Element).closest?.(TYPED_INTO) || document.querySelector(OPEN)) return
      event.preventDefault()
      run()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
}
