import { useEffect, useRef } from 'react'
import { holdUnsaved, type Unsaved } from '../session.ts'

/**
 * Marks unsaved input, or a secret that is shown only once. The end of the session (shell/shell.tsx) and navigation
 * (shell/leaving.tsx) then ask before they discard it. The returned function releases it.
 */
export function useUnsaved(isUnsaved: boolean, kind: Unsaved = 'typed'): () => void {
  const letGo = useRef(() => {})
  useEffect(() => {
    if (!isUnsaved) return
    letGo.current = holdUnsaved(kind)
    return () => letGo.current()
  }, [isUnsaved, kind])
  return () => letGo.current()
}
