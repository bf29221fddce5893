import { z } from 'zod'
import { hubFields, organizationName } from '../auth/schemas.ts'
import { id } from '../envelope.ts'

/** Specification 2.1. */
export const newOrganization = z.strictObject({
  organizationName,
  hubName: hubFields.hubName.optional(),
  hubLat: hubFields.hubLat.optional(),
  hubLng: hubFields.hubLng.optional(),
  copyDataFromFirstOrg: z
    .boolean()
    .default(false)
    .describe('Copy settings, hubs, custom roles and flows of the first organization that the account owns'),
})

const MOST_SETTINGS = 64 * 1024

const fields = {
  name: organizationName,
  logo: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .nullable()
    .meta({ examples: ['https://example.com/logo.png'] }),
  language: z
    .string()
    .max(35)
    .refine(isLanguage, 'This is not a language tag such as en or de-AT.')
    .meta({ examples: ['en'] }),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'A currency has three capital letters, such as EUR.')
    .meta({ examples: ['EUR'] }),
  timeZone: z
    .string()
    .max(100)
    .refine(isTimeZone, 'This is not a time zone such as Europe/Berlin.')
    .meta({ examples: ['Europe/Berlin'] }),
  settings: z
    .record(z.string(), z.unknown())
    .refine(settings => JSON.stringify(settings).length <= MOST_SETTINGS, 'Settings take at most 64 KiB.')
    .meta({ examples: [{ distanceUnit: 'km' }] }),
}

export const organization = z.object({
  _id: id,
  ...fields,
  name: z.string(),
  logo: z.string().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
})

export const organizationChange = z.strictObject(fields).partial()

function isLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1
  } catch {
    return false
  }
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
