import { z } from 'zod'
import { failures, success, text } from '../../http/envelope.ts'
import { nothing, operation } from '../../http/operation.ts'
import { email, newPassword } from '../auth/schemas.ts'

const tags = ['Accounts']

export const forgotPassword = operation({
  access: 'public',
  tags,
  summary: 'Ask for a link to choose a new password',
  description: `Answers the same, and does the same work, whether or not an account has the address. Who has one with a
password gets a mail in the language of \`Accept-Language\`, or else of the organization, with a link that works once, for an hour. At most
3 mails an hour and 10 a day go to an account, whoever asks; a network address may ask 30 times an hour (429). 404 where the server
sends no mail.`,
  body: z.strictObject({ email }),
  response: { 200: success(nothing), ...failures(404) },
})

export const resetForgottenPassword = operation({
  access: 'public',
  tags,
  summary: 'Choose a new password',
  description: `With the token of a link that was mailed. It holds in every organization of the account, ends all its
sessions and all its other links, and signs nobody in: a second factor is asked for as ever. 404 for a token that is unknown, used or
expired.`,
  body: z.strictObject({
    token: text('flp_6f1c0d3e9b7a4258a1c4e2d09f3b5c77')
      .max(200)
      .describe('What stands behind the # of the link'),
    password: newPassword,
  }),
  response: { 200: success(nothing), ...failures(404) },
})
