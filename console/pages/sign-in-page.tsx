import { useSyncExternalStore } from 'react'
import { Navigate, useSearchParams } from 'react-router'
import { getSession, onSession } from '../session.ts'
import { Entrance } from '../shell/entrance.tsx'
import { ownPath, urls } from '../urls.ts'

export function SignInPage() {
  const session = useSyncExternalStore(onSession, getSession)
  const [search] = useSearchParams()
  const next = search.get('next')
  if (session) return <Navigate to={(next && ownPath(next)) || urls.map} replace />
  return <Entrance isAgain={next !== null} />
}
