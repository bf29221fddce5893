import { useEffect, useRef } from 'react'
import { holdUnsaved, type Unsaved } from '../session.ts'

/**
 * While something is typed that is not saved, or is shown this once: neither the end of the session (shell/shell.tsx) nor a way to elsewhere
 * (shell/leaving.tsx) takes it without a question. What is answered lets it go.
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
