import { z } from 'zod'
import { composeEmail, isEmailAddress, MAX_EMAIL_BYTES } from '../../../db/email-address.ts'
import { deleted, done, failures, id, list, pathId, success, text } from '../../http/envelope.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, nothing, operation } from '../../http/operation.ts'
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from './passwords.ts'

/** An e-mail address as people type it. */
export const email = z
  .string()
  .max(320)
  .overwrite(composeEmail)
  .refine(isEmailAddress, 'This is not an e-mail address.')
  // RFC 6531 as well: the format "email" allows ASCII only.
  .meta({ format: 'idn-email', examples: ['anna@example.com'] })
  .describe(`At most ${MAX_EMAIL_BYTES} bytes in UTF-8`)

export const newPassword = z
  .string()
  .min(MIN_PASSWORD_LENGTH, `A password has at least ${MIN_PASSWORD_LENGTH} characters.`)
  .max(MAX_PASSWORD_LENGTH)
  .meta({ examples: ['correct horse battery'] })

export const anyPassword = z
  .string()
  .max(MAX_PASSWORD_LENGTH)
  .meta({ examples: ['correct horse battery'] })

export const personName = newName(200).meta({ examples: ['Anna Berg'] })

/** A text that is no identifier answers 404, as an unknown organization does, whatever its length. */
const anyOrganization = z
  .string()
  .toLowerCase()
  .meta({ examples: ['019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70'] })

const organizationEntry = z.object({
  userId: id,
  organizationId: id,
  organizationName: text('Northwind Field Service'),
  organizationLogo: z.string().nullable(),
  roleName: text('Owner'),
  isCurrent: z.boolean().describe('Whether the token belongs to it'),
})

/** The answer of signing in, switching and creating: specification 2.2. */
export const signedIn = z
  .object({
    status: done,
    message: text('Signed in'),
    token: text('eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJvcmciOiIwMTlhYTNjMCJ9.6kXo').describe(
      'The bearer token',
    ),
    expires_in: z
      .int()
      .meta({ examples: [28_800] })
      .describe('Its lifetime in seconds'),
    data: z.object({
      _id: id,
      name: text('Anna Berg'),
      email: text('anna@example.com'),
      organizationId: id,
      hubId: z.array(id).describe('The hubs that the user has access to'),
    }),
    isHubSet: z.boolean().describe('Whether the organization has a hub'),
    organizations: z.array(organizationEntry),
  })
  .describe('Signed in, with the token to go on with')

const token = text('eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJvcmciOiIwMTlhYTNjMCJ9.6kXo')

export const renewed = z
  .object({
    status: done,
    message: text('Session renewed'),
    token: token.describe('The bearer token to go on with'),
    expires_in: z
      .int()
      .meta({ examples: [28_800] })
      .describe('Its lifetime in seconds'),
  })
  .describe('The session is renewed')

const session = z.object({
  _id: id,
  organizationId: id,
  organizationName: text('Northwind Field Service'),
  userAgent: text('Mozilla/5.0 (X11; Linux x86_64)').nullable(),
  address: text('192.0.2.10').nullable().describe('The network address that it was opened from'),
  isCurrent: z.boolean().describe('Whether it is the session of the token'),
  createdAt: z.date(),
  expiresAt: z.date(),
})

const chosenOrganization = z.strictObject({ organizationId: anyOrganization })

nameSchemas({
  ChosenOrganization: chosenOrganization,
  Membership: organizationEntry,
  Session: session,
  SignedIn: signedIn,
})

const tags = ['Accounts']

export const login = operation(
  {
    access: 'public',
    tags,
    summary: 'Sign in',
    description: `Leads to the organization that the account used last, unless one is named. After 5 failures in a
row the account is closed for a while, longer with each further one; so is an address after 100. An address that the account has
signed in from before is counted apart, so strangers do not close it there. An \`Idempotency-Key\` counts
for nothing here: each time is an attempt and a session of its own. An account with a second factor is answered 401 with the code
\`totp-required\` and a \`challenge\` for \`POST /auth/login/totp\`. Where single sign-on alone is open, every password is answered 403.`,
    body: z.strictObject({
      // A text that is no e-mail address gets the same message as an unknown address.
      email: z
        .string()
        .max(320)
        .meta({ examples: ['owner@example.com'] }),
      password: anyPassword,
      organizationId: anyOrganization
        .optional()
        .describe('The organization to sign in to; otherwise the one used last'),
    }),
    response: { 200: signedIn, ...failures(401, 403, 404) },
  },
  { idempotencyKey: false },
)

/** Open to a user without the second factor that the organization demands, who may go elsewhere instead. */
const leaving = { withoutSecondFactor: true } as const

export const listMyOrganizations = operation(
  {
    access: 'session',
    tags,
    summary: 'The organizations of the account',
    description: 'Those in which it is active, the one used last first.',
    response: { 200: list(organizationEntry) },
  },
  leaving,
)

export const switchOrganization = operation(
  {
    access: 'session',
    tags,
    summary: 'Go on in another organization',
    description: `Answers a new token and revokes the one of this request: every process rejects it from then on, and
live sockets that were opened with it are closed. Where the account is no active member, nothing changes. In an organization that
demands a second factor, the token of an account without one opens nothing but setting it up and leaving. The sign-in goes on: its 30
days do, and signing out ends its sessions in other organizations.`,
    body: chosenOrganization,
    response: { 200: signedIn, ...failures(404) },
  },
  leaving,
)

export const openOrganization = operation(
  {
    access: 'session',
    tags,
    summary: 'Work in another organization at the same time',
    description: `Answers a token of the other organization, and the one of this request goes on: two organizations in two tabs.
Both sessions belong to one sign-in, whose 30 days they share; signing out with either token, or ending either session, ends both.
Asked again, it answers a token of the session that it opened before.`,
    body: chosenOrganization,
    response: { 200: signedIn, ...failures(404) },
  },
  leaving,
)

export const renew = operation(
  {
    access: 'session',
    tags,
    summary: 'Renew the session',
    description: `Answers a new token of the same session, and ends the one of this request. It can be asked in the last
four hours of a session, which lasts at most 30 days after the sign-in. Open live sockets and MQTT connections go on.`,
    response: { 200: renewed, ...failures(409) },
  },
  { idempotencyKey: false },
)

export const logout = operation(
  {
    access: 'session',
    tags,
    summary: 'Sign out',
    description:
      'Ends the session of the token, and those that were opened from the same sign-in in other organizations.',
    response: { 200: success(nothing) },
  },
  leaving,
)

export const changePassword = operation({
  access: 'session',
  tags,
  summary: 'Change the password',
  description: 'In every organization of the account. Ends all its other sessions.',
  body: z.strictObject({ currentPassword: anyPassword, newPassword }),
  response: { 200: success(nothing) },
})

export const listSessions = operation({
  access: 'session',
  tags,
  summary: 'Where the account is signed in',
  description: 'Its living sessions in every organization, newest first.',
  response: { 200: list(session) },
})

export const deleteSession = operation({
  access: 'session',
  tags,
  summary: "End one of the account's sessions",
  description: 'Its token is not accepted from then on, and its live sockets are closed.',
  params: z.object({ id: pathId }),
  response: { 200: deleted, ...failures(404) },
})
