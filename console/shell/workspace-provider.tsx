import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { onRefusal } from '../api/client.ts'
import { Failure } from '../api/failure.ts'
import { lazyWithRetry } from '../api/lazy-with-retry.ts'
import { ME, readMe, WorkspaceContext } from '../api/workspace.ts'
import { Trouble } from '../parts/parts.tsx'
import { TextsProvider, useTexts } from '../texts/texts.tsx'

const SecondFactorPage = lazyWithRetry(() => import('./second-factor-page.tsx'))

/** Whether the organization demands a second factor that the person has not. */
const isUnsecured = (error: unknown) =>
  error instanceof Failure && error.problem.code === 'second-factor-required'

/** Provides the account, its organization and permissions, and the organization's language and time zone. */
export function WorkspaceProvider({ children }: { children: ReactNode }) {
  const texts = useTexts()
  const me = useQuery({ queryKey: ME, queryFn: readMe })
  const roleChanges = useRoleChanges(me.data && JSON.stringify(me.data.user.permissionDetails))
  // While the query is sent again its error is empty: the last error stays visible until a response arrives.
  const trouble = useRef<unknown>(null)
  trouble.current = me.error ?? trouble.current
  // The last response holds while the server is away.
  if (!me.data && isUnsecured(trouble.current)) {
    return (
      <Suspense>
        <SecondFactorPage onDone={() => void me.refetch()} />
      </Suspense>
    )
  }
  if (!me.data && trouble.current) {
    return (
      <main className="middle" id="content">
        <Trouble error={trouble.current} onRetry={() => void me.refetch()} />
      </main>
    )
  }
  if (!me.data) {
    return (
      <main className="middle" id="content" aria-busy="true">
        <p className="hint">{texts.loading}</p>
      </main>
    )
  }
  const { user, organizations } = me.data
  const names = new Set(user.permissionDetails.map(detail => detail.permissionName))
  const { language, timeZone } = user.organization
  const value = {
    user,
    organizations,
    timeZone,
    may: (permission: string) => names.has(permission),
    roleChanges,
  }
  return (
    <TextsProvider language={language} timeZone={timeZone}>
      <WorkspaceContext value={value}>{children}</WorkspaceContext>
    </TextsProvider>
  )
}

/** When the role changes, data that the previous role saw is dropped, and visible data is read again. */
function useRoleChanges(rights: string | undefined): number {
  const queries = useQueryClient()
  const [known, setKnown] = useState({ rights, changes: 0 })
  const { changes } = known
  if (rights !== undefined && rights !== known.rights)
    setKnown({ rights, changes: known.rights === undefined ? changes : changes + 1 })
  useEffect(
    () => onRefusal(() => void queries.invalidateQueries({ queryKey: ME }, { cancelRefetch: false })),
    [queries],
  )
  useEffect(() => {
    if (changes === 0) return
    const others = queries.getQueryCache().findAll({ predicate: ({ queryKey }) => queryKey[0] !== ME[0] })
    for (const query of others) if (!query.isActive()) query.reset()
    void queries.invalidateQueries({ predicate: query => others.includes(query) })
  }, [queries, changes])
  return changes
}
