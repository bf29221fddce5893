import { useSearchParams } from 'react-router'

/** The parameters of the address, and how to change some of them; an empty value takes one away. */
export function useAddress() {
  const [params, setParams] = useSearchParams()
  const change = (changes: { [name: string]: string }) =>
    setParams(
      before => {
        for (const [name, value] of Object.entries(changes)) {
          if (value) before.set(name, value)
          else before.delete(name)
        }
        return before
      },
      // Synchronously: a transition would overwrite the letters typed meanwhile.
      { replace: true, flushSync: true },
    )
  return { params, change }
}
