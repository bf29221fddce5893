import { eq, sql } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { hubConditions, type VisibleHubs } from '../hub-rule.ts'
import { teams, teamUsers } from '../schema/teams.ts'
import { conditions, type Page, type PageRequest, readPage } from './page.ts'

export type Team = Shown<typeof teams> & { memberIds: string[]; leaderIds: string[] }

const usersWho = (are: 'is_member' | 'is_leader') =>
  `(SELECT coalesce(json_agg(x.user_id ORDER BY x.user_id), '[]') FROM team_users x WHERE x.team_id = t.id AND x.${are})`

const COLUMNS = `${shownColumns(teams, 't')}, ${usersWho('is_member')} AS "memberIds",
  ${usersWho('is_leader')} AS "leaderIds"`

/** An identifier of a member, who may also be a leader, with its JSON around it. */
const BYTES = '500 + 80 * (SELECT count(*) FROM team_users x WHERE x.team_id = t.id)'

export const TEAM_SORTS = {
  name: { sql: 'lower(t.name)', type: 'text' },
  createdAt: { sql: 't.created_at', type: 'timestamptz' },
} as const

/** The teams that a user sees: those of its hubs and without a hub or, by the scope of its role, only its own. */
export interface TeamVisibility {
  userId: string
  hubIds: VisibleHubs
  ownOnly: boolean
}

const visibleConditions = (
  { userId, hubIds, ownOnly }: TeamVisibility,
  placeholder: (value: unknown) => string,
): string[] => [
  ...hubConditions('t.hub_id', hubIds, placeholder),
  ...(ownOnly
    ? [`EXISTS (SELECT FROM team_users v WHERE v.team_id = t.id AND v.user_id = ${placeholder(userId)})`]
    : []),
]

export function listTeams(
  tx: Queryable,
  visibility: TeamVisibility,
  filter: { hubIds?: readonly string[]; userIds?: readonly string[] },
  page: PageRequest,
): Promise<Page<Team>> {
  const { where, values, add, placeholder } = conditions()
  where.push(...visibleConditions(visibility, placeholder))
  if (filter.hubIds) add('t.hub_id = ANY(?::uuid[])', filter.hubIds)
  if (filter.userIds) {
    add(
      'EXISTS (SELECT FROM team_users w WHERE w.team_id = t.id AND w.user_id = ANY(?::uuid[]))',
      filter.userIds,
    )
  }
  return readPage(
    tx,
    {
      columns: COLUMNS,
      bytes: BYTES,
      from: 'teams t',
      where,
      values,
      id: 't.id',
      sorts: TEAM_SORTS,
      search: ['t.name'],
    },
    page,
  )
}

/** A visible team, or null. */
export async function findTeam(tx: Queryable, visibility: TeamVisibility, id: string): Promise<Team | null> {
  const { where, values, add, placeholder } = conditions()
  add('t.id = ?', id)
  where.push(...visibleConditions(visibility, placeholder))
  const [row] = await tx.query<Team>(`SELECT ${COLUMNS} FROM teams t WHERE ${where.join(' AND ')}`, values)
  return row ?? null
}

/** Whether a user belongs to a team, as a member or a leader. */
export async function isOfTeam(tx: Queryable, teamId: string, userId: string): Promise<boolean> {
  const rows = await tx.query('SELECT FROM team_users WHERE team_id = $1 AND user_id = $2', [teamId, userId])
  return rows.length > 0
}

export interface NewTeam {
  name: string
  hubId: string | null
  memberIds: readonly string[]
  leaderIds: readonly string[]
}

export async function insertTeam(
  tx: Queryable,
  organizationId: string,
  team: NewTeam & { isSample?: boolean },
): Promise<string> {
  const id = newId()
  const { name, hubId, isSample } = team
  await tx.orm.insert(teams).values({ id, organizationId, name, hubId, isSample })
  await insertTeamUsers(tx, organizationId, id, team)
  return id
}

export async function updateTeam(
  tx: Queryable,
  organizationId: string,
  id: string,
  team: NewTeam,
): Promise<void> {
  await tx.orm
    .update(teams)
    .set({ name: team.name, hubId: team.hubId, updatedAt: sql`now()` })
    .where(eq(teams.id, id))
  await tx.orm.delete(teamUsers).where(eq(teamUsers.teamId, id))
  await insertTeamUsers(tx, organizationId, id, team)
}

export async function deleteTeam(tx: Queryable, id: string): Promise<void> {
  await tx.orm.delete(teams).where(eq(teams.id, id))
}

async function insertTeamUsers(
  tx: Queryable,
  organizationId: string,
  teamId: string,
  team: NewTeam,
): Promise<void> {
  const everyone = [...new Set([...team.memberIds, ...team.leaderIds])].sort()
  if (everyone.length === 0) return
  await tx.orm.insert(teamUsers).values(
    everyone.map(userId => ({
      organizationId,
      teamId,
      userId,
      isMember: team.memberIds.includes(userId),
      isLeader: team.leaderIds.includes(userId),
    })),
  )
}
