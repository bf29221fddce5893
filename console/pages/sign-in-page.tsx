import { useSyncExternalStore } from 'react'
import { Navigate, useSearchParams } from 'react-router'
import { getSession, onSession, wasMoved } from '../session.ts'
import { SignIn } from '../shell/sign-in.tsx'
import { ownPath, urls } from '../urls.ts'

export function SignInPage() {
  const session = useSyncExternalStore(onSession, getSession)
  const [search] = useSearchParams()
  const next = search.get('next')
  const target = (next && ownPath(next)) || urls.map
  // The `next` address belongs to the previous organization.
  if (session) return <Navigate to={wasMoved() ? urls.map : target} replace />
  return <SignIn isAgain={next !== null} />
}
