import { z } from 'zod'
import { failures, pathId, reference, success, text } from '../../http/envelope.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { anyPassword, email, personName, signedIn } from '../auth/schemas.ts'
import { openInvitation, user } from '../users/schemas.ts'

const invitedUser = user.extend({
  invitation: openInvitation
    .extend({
      token: text('6f1c0d3e9b7a4258a1c4e2d09f3b5c77')
        .optional()
        .describe('To be passed on to the person. Shown once, and only where the server sends no mail'),
    })
    .describe('The open invitation. Its mail is on its way, or its token is to be passed on'),
})

const invitation = z.object({
  organizationName: text('Northwind Field Service'),
  email: text('anna@example.com'),
  name: text('Anna Berg').describe('As the inviter has written it'),
  roleName: text('Planner'),
  hasAccount: z
    .boolean()
    .nullable()
    .describe(
      `Whether the address has an account: then its present password accepts the invitation. Null if the inviter passed the
token on, who is not to learn it`,
    ),
})

nameSchemas({ InvitedUser: invitedUser, Invitation: invitation })

const tags = ['Users']

export const inviteUser = operation(
  {
    access: 'create/user',
    tags,
    summary: 'Invite somebody into the organization',
    description: `A server that sends mail writes to the person; \`invitation.mail\` says how that fares, here and in
\`GET /user/{id}\`. Otherwise the answer has the token of the invitation once, for the administrator to pass on. It opens
\`POST /auth/accept-invitation\` for a week. Whoever has an account joins with it. At most 5 mails a day go to one person, and
500 from one company (429). Not for an API key that is to end.`,
    body: z.strictObject({
      email,
      name: personName,
      roleId: reference,
      hubId: z.array(reference).max(1_000).default([]),
    }),
    response: { 201: success(invitedUser), ...failures(409) },
  },
  { answersSecret: true },
)

export const renewInvitation = operation(
  {
    access: 'create/user',
    tags,
    summary: 'Renew an invitation',
    description:
      'For a user who has not accepted yet: a new token or another mail, and the former one is of no use any more. Not for an API key that is to end.',
    params: z.object({ id: pathId }),
    response: { 200: success(invitedUser), ...failures(409) },
  },
  { answersSecret: true },
)

const token = text('6f1c0d3e9b7a4258a1c4e2d09f3b5c77').max(200).describe('The token of the invitation')

export const getInvitation = operation(
  {
    access: 'public',
    tags: ['Accounts'],
    summary: 'What an invitation leads to',
    description:
      'For the page at which an invited person joins. The token stands in the body, so that no log holds it.',
    body: z.strictObject({ token }),
    response: { 200: success(invitation), ...failures(404) },
  },
  { idempotencyKey: false },
)

export const acceptInvitation = operation({
  access: 'public',
  tags: ['Accounts'],
  summary: 'Join an organization',
  description: `With the token of the mail, or the one that an administrator passed on. A new account gets its first password; of one that
exists, \`password\` has to be its present one.`,
  body: z.strictObject({
    token,
    name: personName,
    password: anyPassword.describe(
      'The first password of a new account, or the present password of an existing one, which stays unchanged',
    ),
  }),
  response: { 200: signedIn, ...failures(401, 404) },
})
