import { useEffect } from 'react'
import { holdUnsaved } from '../session.ts'

/** While something is typed that is not saved: the end of the session does not take it (shell/shell.tsx). */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => (isUnsaved ? holdUnsaved() : undefined), [isUnsaved])
}
