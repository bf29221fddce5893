import { z } from 'zod'
import { failures, text } from '../../http/envelope.ts'
import { operation } from '../../http/operation.ts'
import { signedIn } from '../auth/schemas.ts'
import { isOwnPath } from './attempts.ts'

const tags = ['Accounts']

/** Codes of large providers have up to 2,000 characters. */
const MAX_CODE_LENGTH = 4_096
const MAX_STATE_LENGTH = 200

export const startOidc = operation({
  access: 'public',
  tags,
  summary: 'Sign in with the provider',
  description: `Sends a browser to the provider of single sign-on (\`OIDC_ISSUER\`), and keeps in a cookie what the callback is
checked against. 404 where none is set up.`,
  querystring: z.object({
    returnTo: z
      .string()
      .refine(isOwnPath, 'This is no path of this server, such as /tasks.')
      .default('/sign-in')
      .describe('The path to go to afterwards, with a code')
      .meta({ examples: ['/tasks'] }),
  }),
  response: { 303: z.null().describe('To the provider'), ...failures(400, 404, 503) },
})

export const finishOidc = operation({
  access: 'public',
  tags,
  summary: 'Where the provider sends people back',
  description: `Checks state, nonce, issuer, audience and signature, and goes to \`returnTo\` with a one-time code in the parameter
\`code\`. The address has to be verified by the provider (\`email_verified\` is \`true\`), and its account active in an organization, or
invited: signing in accepts the invitation. The account is bound to issuer and subject. A browser goes to \`returnTo\` with the code of a
failure in the parameter \`problem\`; other clients get the failure.`,
  querystring: z
    .object({
      code: z.string().max(MAX_CODE_LENGTH).optional().describe('Of the provider'),
      state: z.string().max(MAX_STATE_LENGTH).optional().describe('As it was given to the provider'),
      iss: z.string().max(2_000).optional().describe('The issuer (RFC 9207)'),
      error: z.string().max(200).optional().describe('Why the provider refuses'),
    })
    // Providers add parameters of their own.
    .catchall(z.unknown()),
  response: { 303: z.null().describe('To `returnTo`'), ...failures(401, 403, 404, 503) },
})

export const createOidcSession = operation(
  {
    access: 'public',
    tags,
    summary: 'Trade the code of single sign-on for a session',
    description: 'Once, within a minute. No second factor is asked for: the provider does that.',
    body: z.strictObject({ code: text('x4Gk2vTqYb7nJm0sZ9rLwPc5dHf8uAeI1oQiUyVtRkE').max(200) }),
    response: { 200: signedIn, ...failures(401, 403, 404) },
  },
  { idempotencyKey: false },
)
