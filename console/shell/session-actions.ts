import { useMutation } from '@tanstack/react-query'
import { answered, api } from '../api/client.ts'
import { getSession, leaveSession, startSession } from '../session.ts'
import { useTexts } from '../texts/texts.tsx'
import { useLeave } from './leaving.tsx'
import { forgetRecent } from './recent.ts'

export const SWITCHING = ['switch-organization']

/** Shows another organization in this tab, without a question about unsaved input. The others stay where they are. */
export function useSwitchTo() {
  return useMutation({
    mutationKey: SWITCHING,
    mutationFn: (organizationId: string) =>
      answered(api.POST('/api/v3/auth/open-organization', { body: { organizationId } })),
    onSuccess: startSession,
  })
}

export function useSwitchOrganization() {
  const { palette } = useTexts()
  const leave = useLeave()
  const { mutate } = useSwitchTo()
  return (to: { organizationId: string; organizationName: string }) =>
    leave(palette.switchTo(to.organizationName), () => mutate(to.organizationId))
}

export function useSignOut() {
  const { account } = useTexts()
  const leave = useLeave()
  return () => leave(account.signOut, signOut)
}

export function signOut(): void {
  const token = getSession()?.token
  forgetRecent()
  if (token) leaveSession(token)
}
