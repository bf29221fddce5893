import { useEffect, useState } from 'react'

/** The pause in typing after which the server is asked. */
const DEBOUNCE_MS = 120

/** Follows a value once it has not changed for a moment. */
export function useDebounced<T>(value: T): T {
  const [debounced, setDebounced] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(() => value), DEBOUNCE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return debounced
}
