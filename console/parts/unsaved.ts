import { useEffect, useRef } from 'react'
import { holdUnsaved } from '../session.ts'

/**
 * While something is typed that is not saved: neither the end of the session (shell/shell.tsx) nor a way to elsewhere
 * (shell/leaving.tsx) takes it without a question. What is answered lets it go.
 */
export function useUnsaved(isUnsaved: boolean): () => void {
  const letGo = useRef(() => {})
  useEffect(() => {
    if (!isUnsaved) return
    letGo.current = holdUnsaved()
    return () => letGo.current()
  }, [isUnsaved])
  return () => letGo.current()
}
