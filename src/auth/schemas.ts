import { z } from 'zod'
import { id } from '../envelope.ts'

export const login = z.strictObject({
  email: z
    .string()
    .max(320)
    .meta({ examples: ['owner@example.com'] }),
  password: z.string().max(1000),
  organizationId: z
    .string()
    .optional()
    .describe('The organization to sign in to; otherwise the one used last'),
})

/** The answer of signing in, switching and creating: specification 2.2. */
export const signedIn = z.object({
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
  organizations: z.array(
    z.object({
      userId: id,
      organizationId: id,
      organizationName: z.string(),
      organizationLogo: z.string().nullable(),
      roleName: z.string(),
      isCurrent: z.boolean(),
    }),
  ),
})
