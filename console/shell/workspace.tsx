import { useQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, use, useRef } from 'react'
import { answered, api } from '../api/client.ts'
import { Failure } from '../api/failure.ts'
import { Trouble } from '../parts/parts.tsx'
import { TextsProvider, useTexts } from '../texts/texts.tsx'

type Me = NonNullable<Awaited<ReturnType<typeof readMe>>>

interface Workspace {
  user: Me['user']
  organizations: Me['organizations']
  timeZone: string | undefined
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

/** A role may see the organization's settings or not; without them dates are the browser's. */
async function readOrganization() {
  try {
    return (await answered(api.GET('/api/v3/organization'))).data
  } catch (error) {
    if (error instanceof Failure && error.status === 403) return null
    throw error
  }
}

/** Who is signed in, where, and how things are written there. */
export function WorkspaceProvider({ children }: { children: ReactNode }) {
  const texts = useTexts()
  const me = useQuery({ queryKey: ['me'], queryFn: readMe })
  const organization = useQuery({ queryKey: ['organization'], queryFn: readOrganization })
  // Asked again, it is unknown for a moment what is wrong: it stays said until an answer comes.
  const trouble = useRef<unknown>(null)
  trouble.current = me.error ?? organization.error ?? trouble.current
  const isKnown = me.data && organization.data !== undefined
  // What was answered once holds while the server is away.
  if (!isKnown && trouble.current) {
    const retry = () => void Promise.all([me.refetch(), organization.refetch()])
    return (
      <main className="middle" id="content">
        <Trouble error={trouble.current} onRetry={retry} />
      </main>
    )
  }
  if (!isKnown) {
    return (
      <main className="middle" id="content" aria-busy="true">
        <p className="hint">{texts.loading}</p>
      </main>
    )
  }
  const { user, organizations } = me.data
  const names = new Set(user.permissionDetails.map(detail => detail.permissionName))
  const timeZone = organization.data?.timeZone
  const value = { user, organizations, timeZone, may: (permission: string) => names.has(permission) }
  return (
    <TextsProvider language={organization.data?.language} timeZone={timeZone}>
      <Context value={value}>{children}</Context>
    </TextsProvider>
  )
}

export function useWorkspace(): Workspace {
  const workspace = use(Context)
  if (!workspace) throw new Error('Nobody is signed in above this part')
  return workspace
}
