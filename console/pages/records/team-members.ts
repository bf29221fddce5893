import { answered, api } from '../../api/client.ts'

const path = (id: string) => ({ params: { path: { id } } })

/** A person on the way from a team, or from none, into another one, or out. */
export interface Move {
  userId: string
  from: string | null
  to: string | null
  /** Whether the person leads the team that is entered. */
  leads?: boolean
}

/** Moves a person between teams. The team to enter comes first: whoever is interrupted stays in a team. */
export async function movePerson({ userId, from, to, leads }: Move): Promise<void> {
  if (to !== null) await changeMembers(to, ids => [...new Set([...ids, userId])], leads ? [userId] : [])
  if (from !== null) await changeMembers(from, ids => ids.filter(id => id !== userId))
}

/** Reads the team first: PUT replaces all of it, and others may have changed it. */
async function changeMembers(
  teamId: string,
  change: (ids: string[]) => string[],
  newLeaders: readonly string[] = [],
): Promise<void> {
  const { data: team } = await answered(api.GET('/api/v3/team/{id}', path(teamId)))
  const { name, hubId } = team
  const memberIds = change(team.memberIds)
  const leaderIds = [...new Set([...team.leaderIds, ...newLeaders])].filter(id => memberIds.includes(id))
  await answered(
    api.PUT('/api/v3/team/{id}', { ...path(teamId), body: { name, hubId, memberIds, leaderIds } }),
  )
}
