import { z } from 'zod'
import { id, reference } from '../envelope.ts'
import { MOST_PASSWORD, PASSWORD_LENGTH } from './passwords.ts'

/** An address as people write it; compared without case. */
export const email = z
  .string()
  .trim()
  .max(320)
  .pipe(z.email('This is not an e-mail address.'))
  .meta({ examples: ['anna@example.com'] })

export const newPassword = z
  .string()
  .min(PASSWORD_LENGTH, `A password has at least ${PASSWORD_LENGTH} characters.`)
  .max(MOST_PASSWORD)
  .meta({ examples: ['correct horse battery'] })

const anyPassword = z
  .string()
  .max(MOST_PASSWORD)
  .meta({ examples: ['correct horse battery'] })

export const personName = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .meta({ examples: ['Anna Berg'] })

export const organizationName = z
  .string()
  .trim()
  .min(3)
  .max(100)
  .meta({ examples: ['Northwind Field Service'] })

/** The first hub, as specification 2.1 limits it. */
export const hubFields = {
  hubName: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .meta({ examples: ['Berlin'] }),
  hubLat: z
    .number()
    .min(-90)
    .max(90)
    .meta({ examples: [52.52] }),
  hubLng: z
    .number()
    .min(-180)
    .max(180)
    .meta({ examples: [13.405] }),
}

export const login = z.strictObject({
  // Whatever is no address belongs to nobody: one message for both.
  email: z
    .string()
    .max(320)
    .meta({ examples: ['owner@example.com'] }),
  password: anyPassword,
  organizationId: reference
    .optional()
    .describe('The organization to sign in to; otherwise the one used last'),
})

export const registration = z.strictObject({
  name: personName,
  email,
  password: newPassword,
  organizationName,
  ...hubFields,
})

export const acceptance = z.strictObject({
  token: z.string().max(200).describe('The token of the invitation'),
  name: personName,
  password: anyPassword.describe(
    'Of a new account its first password; of one that exists its present one, which stays as it is',
  ),
})

export const switching = z.strictObject({ organizationId: reference })

export const passwordChange = z.strictObject({ currentPassword: anyPassword, newPassword })

const organizationEntry = z.object({
  userId: id,
  organizationId: id,
  organizationName: z.string(),
  organizationLogo: z.string().nullable(),
  roleName: z.string(),
  isCurrent: z.boolean().describe('Whether the token belongs to it'),
})

export const organizationEntries = z.array(organizationEntry)

/** The answer of signing in, switching and creating: specification 2.2. */
export const signedIn = z
  .object({
    status: z.literal(true),
    message: z.string(),
    token: z.string().describe('The bearer token'),
    expires_in: z.int().describe('Its lifetime in seconds'),
    data: z.object({
      _id: id,
      name: z.string(),
      email: z.string(),
      organizationId: id,
      hubId: z.array(id).describe('The hubs that the user has access to'),
    }),
    isHubSet: z.boolean().describe('Whether the organization has a hub'),
    organizations: organizationEntries,
  })
  .describe('Signed in, with the token to go on with')

export const session = z.object({
  _id: id,
  organizationId: id,
  organizationName: z.string(),
  userAgent: z.string().nullable(),
  address: z.string().nullable().describe('The network address that it was opened from'),
  isCurrent: z.boolean().describe('Whether it is the session of the token'),
  createdAt: z.date(),
  expiresAt: z.date(),
})
