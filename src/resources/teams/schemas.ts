import { z } from 'zod'
import { TEAM_SORTS } from '../../../db/queries/teams.ts'
import {
  deleted,
  failures,
  id,
  isSample,
  list,
  pathId,
  reference,
  success,
  text,
} from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

const team = z.object({
  _id: id,
  name: text('North'),
  hubId: id.nullable(),
  memberIds: z.array(id),
  leaderIds: z.array(id).describe('Who leads it; they belong to it as members do'),
  isSample,
  createdAt: z.date(),
  updatedAt: z.date(),
})

const users = z.array(reference).max(5_000).default([])

const newTeam = z.strictObject({
  name: newName(100).meta({ examples: ['North'] }),
  hubId: reference.nullable().default(null),
  memberIds: users,
  leaderIds: users,
})

nameSchemas({ Team: team, NewTeam: newTeam })

const tags = ['Teams']
const params = z.object({ id: pathId })

export const listTeams = operation({
  access: 'view/team',
  tags,
  summary: 'The teams of the organization',
  description: `Those of the caller's hubs and of none; with scope \`team\` or \`own\` the caller's own ones alone.`,
  querystring: listQuery(TEAM_SORTS, 'name').extend({
    hubId: z.string().optional().describe('Hubs, separated by commas'),
    userId: z.string().optional().describe('Members or leaders, separated by commas'),
  }),
  response: { 200: list(team) },
})

export const getTeam = operation({
  access: 'view/team',
  tags,
  summary: 'A team',
  description: 'With its members and leaders.',
  params,
  response: { 200: success(team) },
})

export const createTeam = operation({
  access: 'create/team',
  tags,
  summary: 'Create a team',
  description: 'Leaders need not be members too; either way the user belongs to the team.',
  body: newTeam,
  response: { 201: success(team), ...failures(409) },
})

export const replaceTeam = operation({
  access: 'update/team',
  tags,
  summary: 'Replace a team',
  description: 'Applies at once to the records that its members see, also on open live sockets.',
  params,
  body: newTeam,
  response: { 200: success(team), ...failures(409) },
})

export const deleteTeam = operation({
  access: 'delete/team',
  tags,
  summary: 'Delete a team',
  description: 'Its members stay.',
  params,
  response: { 200: deleted },
})
