import { z } from 'zod'
import { success, text } from '../../http/envelope.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

const methods = z.object({
  password: z
    .boolean()
    .describe(
      'Whether an address and a password sign in: `POST /auth/login`; false where that is left to the first owner',
    ),
  forgotPassword: z
    .boolean()
    .describe('Whether the server sends mail, so that a forgotten password can be replaced by a link'),
  oidc: z
    .object({ label: text('Northwind') })
    .nullable()
    .describe('The provider of single sign-on, as the button is to name it; null without one'),
  signUp: z
    .boolean()
    .describe('Whether anybody may create an account with an organization: `POST /auth/register`'),
})

nameSchemas({ SignInMethods: methods })

export const getSignInMethods = operation({
  access: 'public',
  tags: ['Accounts'],
  summary: 'The ways to sign in',
  description:
    'For the page at which people sign in. The same for everybody: it tells nothing about an account.',
  response: { 200: success(methods) },
})
