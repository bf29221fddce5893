import { z } from 'zod'
import { failures, pathId, reference, success, text } from '../../http/envelope.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { anyPassword, email, personName, signedIn } from '../auth/schemas.ts'
import { user } from '../users/schemas.ts'

const invitedUser = user.extend({
  invitation: z
    .object({ token: text('6f1c0d3e9b7a4258a1c4e2d09f3b5c77'), expiresAt: z.date() })
    .describe('To be passed on to the person. Shown once'),
})

nameSchemas({ InvitedUser: invitedUser })

const tags = ['Users']

export const inviteUser = operation({
  access: 'create/user',
  tags,
  summary: 'Invite somebody into the organization',
  description: `Answers the token of the invitation once, for the administrator to pass on. It opens
\`POST /auth/accept-invitation\` for a week. Whoever has an account joins with it.`,
  body: z.strictObject({
    email,
    name: personName,
    roleId: reference,
    hubId: z.array(reference).max(1_000).default([]),
  }),
  response: { 201: success(invitedUser), ...failures(409) },
})

export const renewInvitation = operation({
  access: 'create/user',
  tags,
  summary: 'Renew an invitation',
  description: 'For a user who has not accepted yet: a new token, and the former one is of no use any more.',
  params: z.object({ id: pathId }),
  response: { 200: success(invitedUser), ...failures(409) },
})

export const acceptInvitation = operation({
  access: 'public',
  tags: ['Accounts'],
  summary: 'Join an organization',
  description: `With the token that an administrator passed on. A new account gets its first password; of one that
exists, \`password\` has to be its present one.`,
  body: z.strictObject({
    token: text('6f1c0d3e9b7a4258a1c4e2d09f3b5c77').max(200).describe('The token of the invitation'),
    name: personName,
    password: anyPassword.describe(
      'The first password of a new account, or the present password of an existing one, which stays unchanged',
    ),
  }),
  response: { 200: signedIn, ...failures(401, 404) },
})
