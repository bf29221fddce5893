import { useQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, use, useRef } from 'react'
import { answered, api } from '../api/client.ts'
import { Trouble } from '../parts/parts.tsx'
import { TextsProvider, useTexts } from '../texts/texts.tsx'

type Me = NonNullable<Awaited<ReturnType<typeof readMe>>>

interface Workspace {
  user: Me['user']
  organizations: Me['organizations']
  timeZone: string
  /** Whether the role carries a permission. */
  may(permission: string): boolean
}

const Context = createContext<Workspace | null>(null)

async function readMe() {
  const [{ data: user }, { data: organizations }] = await Promise.all([
    answered(api.GET('/api/v3/user')),
    answered(api.GET('/api/v3/auth/my-organizations')),
  ])
  return { user, organizations }
}

/** Who is signed in, where, and how things are written there. */
export function WorkspaceProvider({ children }: { children: ReactNode }) {
  const texts = useTexts()
  const me = useQuery({ queryKey: ['me'], queryFn: readMe })
  // Asked again, it is unknown for a moment what is wrong: it stays said until an answer comes.
  const trouble = useRef<unknown>(null)
  trouble.current = me.error ?? trouble.current
  // What was answered once holds while the server is away.
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
  const value = { user, organizations, timeZone, may: (permission: string) => names.has(permission) }
  return (
    <TextsProvider language={language} timeZone={timeZone}>
      <Context value={value}>{children}</Context>
    </TextsProvider>
  )
}

export function useWorkspace(): Workspace {
  const workspace = use(Context)
  if (!workspace) throw new Error('Nobody is signed in above this part')
  return workspace
}
