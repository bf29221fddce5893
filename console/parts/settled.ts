import { useEffect, useState } from 'react'

/** How long nobody types before the server is asked. */
const SETTLED_MS = 120

/** What has not changed for a moment. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(() => value), SETTLED_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
