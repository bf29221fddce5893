import { useMutation } from '@tanstack/react-query'
import { answered, api } from '../api/client.ts'
import { expectNext, getSession, leaveSession, startSession } from '../session.ts'
import { forgetRecent } from './recent.ts'

export const SWITCHING = ['switch-organization']

export function useSwitchOrganization() {
  return useMutation({
    mutationKey: SWITCHING,
    mutationFn: (organizationId: string) =>
      answered(api.POST('/api/v3/auth/switch-organization', { body: { organizationId } })),
    onMutate: () => expectNext(true),
    onError: () => expectNext(false),
    onSuccess: startSession,
  })
}

export async function signOut(): Promise<void> {
  const token = getSession()?.token
  // Also where the server is away: here it is over in any case, there it is within hours.
  await api.POST('/api/v3/auth/logout').catch(() => {})
  forgetRecent()
  if (token) leaveSession(token)
}
