import { useEffect, useState } from 'react'

/** How long nobody types before the server is asked. */
const SETTLED_MS = 120

/** A text that has not changed for a moment. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLED_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
