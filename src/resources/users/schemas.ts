import { z } from 'zod'
import { USER_SORTS } from '../../../db/queries/users.ts'
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
import { nameSchemas, operation } from '../../http/operation.ts'
import { newPassword, personName } from '../auth/schemas.ts'
import { permissionDetail } from '../roles/schemas.ts'

export const openInvitation = z.object({
  expiresAt: z.iso.datetime({ precision: 3 }),
  mail: z
    .enum(['waiting', 'sent', 'refused', 'failed'])
    .nullable()
    .describe(
      'How its mail fares: refused is for good, failed after a day of attempts. Null if the inviter passes the token on',
    ),
})

export const user = z.object({
  _id: id,
  name: text('Anna Berg'),
  email: text('anna@example.com'),
  status: z.enum(['active', 'invited', 'suspended']),
  role: z.object({ _id: id, name: text('Planner') }),
  // The creator of a hub works in it, so a user may have more hubs than a request may name.
  hubId: z.array(id).describe('The hubs that the user may work in'),
  organizationId: id,
  lastActiveAt: z.date().nullable().describe('When it last sent any request here, to the minute'),
  invitation: openInvitation.nullable().describe('The open invitation of a user who has not joined yet'),
  isSample,
  createdAt: z.date(),
  updatedAt: z.date(),
})

const self = user.omit({ invitation: true }).extend({
  kind: z.enum(['user', 'api-key']).describe('Whether a user calls, or an API key'),
  email: user.shape.email.nullable().describe('Null for an API key'),
  permissionDetails: z.array(permissionDetail),
  runsServer: z
    .boolean()
    .describe('Whether it is Owner of the first organization, and may read `GET /health-history`'),
  hasPassword: z
    .boolean()
    .describe(
      'Whether the account has a password; without one, single sign-on alone opens it. False for an API key',
    ),
  secondFactor: z
    .object({
      isOn: z.boolean().describe('Whether signing in with the password takes a code as well'),
      recoveryCodesLeft: z.int().meta({ examples: [10] }),
    })
    .nullable()
    .describe('Of the account, in all its organizations; null for an API key'),
  organization: z
    .object({
      language: text('de-AT').nullable().describe('Null where nobody has set one'),
      timeZone: text('Europe/Vienna'),
    })
    .describe(
      'How dates, times and numbers are written there: for everybody, whatever the role may read of it',
    ),
})

nameSchemas({ OpenInvitation: openInvitation, User: user, OwnUser: self, UserRole: user.shape.role })

const tags = ['Users']
const params = z.object({ id: pathId })

export const listUsers = operation({
  access: 'view/user',
  tags,
  summary: 'The users of the organization',
  description: `Those who work in one of the caller's hubs or in none; Owner and Admin see everybody. With scope \`team\` those
of the caller's teams, with \`own\` the caller alone.`,
  querystring: listQuery(USER_SORTS, 'name').extend({
    status: z.enum(['active', 'invited', 'suspended']).optional(),
    roleId: z.string().optional().describe('Roles, separated by commas'),
    hubId: z.string().optional().describe('Hubs, separated by commas'),
  }),
  response: { 200: list(user) },
})

export const getSelf = operation(
  {
    access: 'session',
    tags,
    summary: 'The calling user or API key',
    description: 'With the permissions of its role.',
    response: { 200: success(self) },
  },
  { apiKey: true },
)

export const updateSelf = operation({
  access: 'session',
  tags,
  summary: 'Change the own name',
  description: 'In this organization. Everything else is changed by administrators.',
  body: z.strictObject({ name: personName }).partial(),
  response: { 200: success(self) },
})

export const getUserByEmail = operation({
  access: 'view/user',
  tags,
  summary: 'The user of an e-mail address',
  description: 'In any spelling of the address: without case, and with its domain in letters or in ASCII.',
  params: z.object({ email: z.string().meta({ examples: ['anna@example.com'] }) }),
  response: { 200: success(user) },
})

export const getUser = operation({
  access: 'view/user',
  tags,
  summary: 'A user',
  description: 'A membership in the organization.',
  params,
  response: { 200: success(user) },
})

export const updateUser = operation({
  access: 'update/user',
  tags,
  summary: "Change a user's role, hubs or status",
  description: `Holds at once, on open live sockets too. Suspending ends the user's sessions. The last owner can be
neither suspended nor given another role. Nobody gives a role that reaches further than the own, or changes a user who has one. Not for an API key that is to end.`,
  params,
  body: z.strictObject({
    roleId: reference.optional(),
    hubId: z.array(reference).max(1_000).optional(),
    status: z.enum(['active', 'suspended']).optional(),
  }),
  response: { 200: success(user), ...failures(403, 409) },
})

export const deleteUser = operation({
  access: 'delete/user',
  tags,
  summary: 'Delete a user of the organization',
  description: `Ends its sessions here and withdraws an invitation. The account and its other organizations stay, and
so does the history of its positions.`,
  params,
  response: { 200: deleted, ...failures(409) },
})

export const resetPassword = operation({
  access: 'update/user',
  tags,
  summary: "Reset a user's password",
  description: `Only for users whose account first registered in this organization. The password is the account's in all
its organizations, and its sessions end in all of them. Not for an API key that is to end.`,
  params,
  body: z.strictObject({ newPassword }),
  response: { 200: deleted, ...failures(403) },
})
