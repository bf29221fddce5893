import { useEffect, useRef, useState } from 'react'
import { useLive } from '../live/live.tsx'
import { urls } from '../urls.ts'

/** Whether the server has a newer version of the page than the open one. It is asked whenever the server was away. */
export function useIsOutdated(): boolean {
  const { name } = useLive().state
  const [isOutdated, setOutdated] = useState(false)
  const wasAway = useRef(false)
  useEffect(() => {
    if (name === 'offline') wasAway.current = true
    if (name !== 'live' || !wasAway.current) return
    wasAway.current = false
    readPage().then(
      page => setOutdated(!page.includes(ownScript())),
      // The server is away again: it is asked once it is back.
      () => {
        wasAway.current = true
      },
    )
  }, [name])
  return isOutdated
}

const ownScript = () => document.querySelector('script[type=module]')?.getAttribute('src') ?? ''

async function readPage(): Promise<string> {
  const answer = await fetch(urls.map, { cache: 'no-store' })
  if (!answer.ok) throw new Error(answer.statusText)
  return answer.text()
}
