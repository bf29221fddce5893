import { z } from 'zod'
import { failures, id, success, text } from '../../http/envelope.ts'
import { nameSchemas, nothing, operation } from '../../http/operation.ts'
import { anyPassword, signedIn } from '../auth/schemas.ts'

/** A code has six digits and a recovery code nineteen characters; some apps copy them with spaces. */
const MAX_CODE_LENGTH = 40

export const code = z
  .string()
  .min(1)
  .max(MAX_CODE_LENGTH)
  .meta({ examples: ['492039'] })

const anyCode = code.describe('The code that the app shows, or a recovery code')

const secret = z.object({
  secret: text('JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP').describe(
    'To be typed into the app, in Base32. Shown once',
  ),
  uri: text(
    'otpauth://totp/Fieldline:anna%40example.com?issuer=Fieldline&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&algorithm=SHA1&digits=6&period=30',
  ).describe('To be shown as a QR code'),
})

const recoveryCodes = z.object({
  recoveryCodes: z
    .array(text('7kq2-m0xa-p9de-4hst-w3vb-8jnf'))
    .describe('Each opens the account once, without the app. Shown once'),
})

const unsecured = z.object({
  total: z
    .int()
    .describe('How many would be shut out')
    .meta({ examples: [1] }),
  users: z
    .array(z.object({ _id: id, name: text('Anna Berg'), email: text('anna@example.com') }))
    .describe('The first 100 of them, by name; none for a caller who does not see all users'),
})

nameSchemas({
  SecondFactorSecret: secret,
  RecoveryCodes: recoveryCodes,
  UnsecuredUsers: unsecured,
  UnsecuredUser: unsecured.shape.users.element,
})

const tags = ['Accounts']
/** Open to a user without the second factor that the organization demands. */
const setup = { withoutSecondFactor: true } as const

export const beginTotp = operation(
  {
    access: 'session',
    tags,
    summary: 'Set up a second factor',
    description: `Answers the secret for an app that shows codes (RFC 6238: SHA-1, six digits, 30 seconds), in place of one
that was begun before. It counts once \`POST /auth/totp/confirm\` has shown its first code.`,
    response: { 200: success(secret), ...failures(409) },
  },
  { ...setup, answersSecret: true },
)

export const confirmTotp = operation(
  {
    access: 'session',
    tags,
    summary: 'Confirm the second factor',
    description: `With the first code of the app. From then on signing in takes a code as well, in all organizations of the
account; those who are signed in elsewhere with the password alone are signed out. Answers ten recovery codes, once.`,
    body: z.strictObject({ code: code.describe('The code that the app shows') }),
    response: { 200: success(recoveryCodes), ...failures(409) },
  },
  { ...setup, answersSecret: true },
)

export const deleteTotp = operation({
  access: 'session',
  tags,
  summary: 'Remove the second factor',
  description:
    'With the password and a code. The recovery codes go with it, and who is signed in elsewhere is signed out.',
  body: z.strictObject({ password: anyPassword, code: anyCode }),
  response: { 200: success(nothing), ...failures(409) },
})

export const loginTotp = operation(
  {
    access: 'public',
    tags,
    summary: 'Sign in with a code',
    description: `The second step where \`POST /auth/login\`, or accepting an invitation, answered 401 with the code
\`totp-required\`. A code counts once, in the step of 30 seconds that it belongs to or the next one. Five wrong codes end the challenge,
and count for the account as wrong passwords do.`,
    body: z.strictObject({
      challenge: text('p3q0kYw4dJc2nqf5m1Tz7l9sXbV6hRgE8uOaWiN0yCk')
        .max(200)
        .describe('Valid for five minutes'),
      code: anyCode,
    }),
    response: { 200: signedIn, ...failures(401, 403, 404) },
  },
  { idempotencyKey: false },
)

export const getUnsecured = operation({
  access: 'update/organization',
  tags: ['Organizations'],
  summary: 'Who has no second factor',
  description: `The active users whom \`settings.requireSecondFactor\` would shut out until they set one up: those who sign in with a
password and without a code.`,
  response: { 200: success(unsecured) },
})
