import { createContext, use } from 'react'
import { answered, api } from './client.ts'

type Me = NonNullable<Awaited<ReturnType<typeof readMe>>>

export interface Workspace {
  user: Me['user']
  organizations: Me['organizations']
  timeZone: string
  /** Whether the role carries a permission. */
  may(permission: string): boolean
  /** How often the role has changed while the page was open. */
  roleChanges: number
}

/** The key of the query that reads the account, its organizations and its permissions. */
export const ME = ['me']
export const WorkspaceContext = createContext<Workspace | null>(null)

export async function readMe() {
  const [{ data: user }, { data: organizations }] = await Promise.all([
    answered(api.GET('/api/v3/user')),
    answered(api.GET('/api/v3/auth/my-organizations')),
  ])
  return { user, organizations }
}

/** The account that is signed in, its organization and its permissions. Throws outside of the shell, which provides them. */
export function useWorkspace(): Workspace {
  const workspace = use(WorkspaceContext)
  if (!workspace) throw new Error('There is no WorkspaceProvider above this component')
  return workspace
}
