import { Suspense, useSyncExternalStore } from 'react'
import { lazyWithRetry } from '../api/lazy-with-retry.ts'
import { getOtherToken, onSession } from '../session.ts'
import { SignIn } from './sign-in.tsx'

const OpenOrganization = lazyWithRetry(() => import('./open-organization.tsx'))

/**
 * The way into the organization of this tab: by a session that the browser has in another one, or by signing in. `isAgain`: the
 * person was signed in before, and continues there.
 */
export function Entrance({ isAgain }: { isAgain: boolean }) {
  const other = useSyncExternalStore(onSession, getOtherToken)
  if (other === null) return <SignIn isAgain={isAgain} />
  return (
    <Suspense fallback={<main className="middle" id="content" aria-busy="true" />}>
      <OpenOrganization key={other} token={other} />
    </Suspense>
  )
}
