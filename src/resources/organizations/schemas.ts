import { z } from 'zod'
import { deleted, failures, id, success, text } from '../../http/envelope.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import type { Permission } from '../../http/permissions.ts'
import { timeZone } from '../../http/times.ts'
import { signedIn } from '../auth/schemas.ts'

export const organizationName = newName(100, 3).meta({ examples: ['Northwind Field Service'] })

/** The first hub, as specification 2.1 limits it. */
export const hubFields = {
  hubName: newName(100).meta({ examples: ['Berlin'] }),
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

/** Specification 2.1. */
const newOrganization = z.strictObject({
  organizationName,
  hubName: hubFields.hubName.optional(),
  hubLat: hubFields.hubLat.optional(),
  hubLng: hubFields.hubLng.optional(),
  copyDataFromFirstOrg: z
    .boolean()
    .default(false)
    .describe('Copy settings, hubs, custom roles and flows of the first organization that the account owns'),
})

/** A week. */
const MAX_OFFLINE_AFTER_MINUTES = 7 * 24 * 60
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
    .describe('How dates, times and numbers are written; en where nobody has set one')
    .meta({ examples: ['en'] }),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'A currency has three capital letters, such as EUR.')
    .meta({ examples: ['EUR'] }),
  timeZone,
  settings: z
    .strictObject({
      teamPositions: z
        .boolean()
        .optional()
        .describe('Whether OwnTracks is answered with the positions of the team; false where it is not set'),
      requireSecondFactor: z
        .boolean()
        .optional()
        .describe(
          'Whether everything but setting it up is closed to users without a second factor; false where it is not set. Not for API keys, nor for sessions of single sign-on, whose provider asks for factors',
        ),
      maxAccuracy: z
        .number()
        .positive()
        .nullable()
        .optional()
        .describe('Metres beyond which a point counts as wrong; null is no limit'),
      offlineAfterMinutes: z
        .number()
        .positive()
        .max(MAX_OFFLINE_AFTER_MINUTES)
        .optional()
        .describe('Silence after which a subject is shown as offline; 10 where it is not set'),
    })
    .meta({ examples: [{ maxAccuracy: 100, offlineAfterMinutes: 10 }] }),
}

const organization = z.object({
  _id: id,
  ...fields,
  name: text('Northwind Field Service'),
  logo: z.string().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
})

/** Drops the keys that were stored when any key was accepted. */
export const knownSettings = (settings: object): object =>
  Object.fromEntries(Object.entries(settings).filter(([key]) => Object.hasOwn(fields.settings.shape, key)))

function isLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1
  } catch {
    return false
  }
}

nameSchemas({
  NewOrganization: newOrganization,
  Organization: organization,
  OrganizationSettings: fields.settings,
})

const tags = ['Organizations']

/** Specification section 7, case 3. */
const MAY_NOT_CREATE = 'You have no permission to create an organization. Please contact an administrator.'

export const createOrganization = operation(
  {
    access: 'create/organization',
    tags,
    summary: 'Create an organization and go on in it',
    description: `The account becomes its owner, the session moves to it, and the token of this request is revoked.
Default roles and flows are created from templates; sample data follows in the background. The hub fields are required where
the account owns no organization that has hubs; otherwise its hubs are copied when they are left out.`,
    body: newOrganization,
    response: { 201: signedIn, ...failures(403) },
  },
  // A key is of one organization and has no session that could move.
  { denial: MAY_NOT_CREATE, apiKey: false },
)

export const getOrganization = operation({
  access: 'view/organization',
  tags,
  summary: 'The organization of the token',
  description: 'Its name, logo, language, currency, time zone and settings.',
  response: { 200: success(organization) },
})

export const updateOrganization = operation({
  access: 'update/organization',
  tags,
  summary: 'Change the organization of the token',
  description: 'Fields that are left out stay as they are, and so do keys of `settings` that are left out.',
  body: z
    .strictObject({
      ...fields,
      language: fields.language
        .nullable()
        .describe('null is none of its own: everybody has that of their browser'),
    })
    .partial(),
  response: { 200: success(organization) },
})

export const deleteOrganization = operation({
  access: 'delete/organization',
  tags,
  summary: 'Delete the organization of the token',
  description: `Ends every access to it at once: sessions, devices, live sockets. Its records are deleted in the
background and cannot be brought back.`,
  response: { 200: deleted },
})

/** The permissions that the records of the sample company need, besides that on the organization. */
export const CREATED: readonly Permission[] = [
  'create/hub',
  'create/user',
  'create/team',
  'create/device',
  'create/vehicle',
  'create/geofence',
  'create/data-type',
  'create/data',
  'import/data',
  'create/flow',
  'create/task',
  'create/task-schedule',
  'create/tracking-link',
  'create/location',
]

const sampleData = z.object({
  _id: id.describe('The organization'),
  status: z.enum(['none', 'creating', 'there', 'failed']),
  progress: z
    .number()
    .describe('0 to 1')
    .meta({ examples: [0.4] }),
  isOffered: z
    .boolean()
    .describe('Whether the sample company may be created: there is neither a hub nor a sample'),
})

nameSchemas({ SampleData: sampleData })

export const getSampleData = operation({
  access: 'view/organization',
  tags,
  summary: 'How far the sample data is',
  description:
    '`creating` is the company that was ordered last. `failed` has to be deleted before it is created again.',
  response: { 200: success(sampleData) },
})

export const createSampleData = operation({
  access: 'update/organization',
  tags,
  summary: 'Create a sample company',
  description: `For an organization without a hub: a company in San Francisco with depots, vehicles, drivers, teams,
customers, tasks and a fortnight of history, all of it marked \`isSample\`. It is created in the background; \`GET
/organization/sample-data\` says how far it is. The caller also needs ${CREATED.map(name => `\`${name}\``).join(', ')}, each with
scope \`all\`.`,
  response: { 202: success(sampleData), ...failures(409) },
})

export const deleteSampleData = operation({
  access: 'update/organization',
  tags,
  summary: 'Delete the sample data',
  description: `All records that are marked \`isSample\`, and what is bound to them, also while they are created. Hubs and
flows stay where other records use them. Points of sample devices are deleted in the background. 409 while an import into sample
data works.`,
  response: {
    ...failures(409),
    200: success(
      z.object({
        _id: id.describe('The organization'),
        removed: z.record(z.string(), z.int()).describe('How many of each resource'),
      }),
    ),
  },
})
