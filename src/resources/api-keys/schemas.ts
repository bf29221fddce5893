import { z } from 'zod'
import { API_KEY_SORTS } from '../../../db/queries/api-keys.ts'
import {
  deleted,
  failures,
  id,
  list,
  namedRecord,
  pathId,
  reference,
  success,
  text,
} from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { bodyTime } from '../../http/times.ts'
import { user } from '../users/schemas.ts'

const MAX_OVERLAP_S = 7 * 86_400

const apiKey = z.object({
  _id: id,
  name: text('ERP'),
  role: user.shape.role,
  hubId: z.array(id),
  prefix: text('flk_Vq3Xr8pL').describe('The beginning of the key'),
  expiresAt: z.date().nullable().describe('Null is never'),
  formerExpiresAt: z
    .date()
    .nullable()
    .describe('Until when the key from before a rotation is valid; null once it has ended'),
  lastUsedAt: z.date().nullable().describe('To the minute'),
  lastUsedFrom: text('203.0.113.7').nullable().describe('The address of its last use'),
  createdBy: namedRecord.nullable().describe('Null once it is deleted'),
  createdAt: z.date(),
  updatedAt: z.date(),
})
const withKey = apiKey.extend({
  key: text('flk_Vq3Xr8pLm2Yt6Nw1Zs9Qk4uEvBhGfLcPdAiSoYx6M7J').describe('Shown once'),
})

const fields = {
  name: newName(200).meta({ examples: ['ERP'] }),
  roleId: reference,
  hubId: z.array(reference).max(1_000).describe('The hubs that the key may work in'),
  expiresAt: bodyTime.nullable().describe('A time to come; null is never'),
}
const newApiKey = z.strictObject({
  ...fields,
  hubId: fields.hubId.default([]),
  expiresAt: fields.expiresAt.default(null).meta({ examples: [null] }),
})
const patch = z.strictObject(fields).partial()
const rotation = z.strictObject({
  overlapSeconds: z
    .int()
    .min(0)
    .max(MAX_OVERLAP_S)
    .default(0)
    .describe('How long the former key stays valid')
    .meta({ examples: [3_600] }),
})

nameSchemas({ ApiKey: apiKey, ApiKeyWithKey: withKey, NewApiKey: newApiKey, ApiKeyRotation: rotation })

const tags = ['API keys']
const params = z.object({ id: pathId })

export const listApiKeys = operation({
  access: 'view/api-key',
  tags,
  summary: 'The API keys of the organization',
  description: `A key is for a program: it stands wherever a user's token does, and has a role and hubs as a user has. Those that work in
one of the caller's hubs or in none.`,
  querystring: listQuery(API_KEY_SORTS, 'name').extend({
    createdBy: z
      .string()
      .optional()
      .describe('Those that these users or API keys created, separated by commas'),
  }),
  response: { 200: list(apiKey) },
})

export const getApiKey = operation({
  access: 'view/api-key',
  tags,
  summary: 'An API key',
  description: 'Without the key itself, which is not stored.',
  params,
  response: { 200: success(apiKey) },
})

export const createApiKey = operation(
  {
    access: 'create/api-key',
    tags,
    summary: 'Create an API key',
    description: `Nobody creates a key whose role reaches further than the own, and a key none that lives longer. The key is shown once: only its digest is stored. It
lives on when the one who created it leaves. It opens every operation that requires a permission but creating an organization;
the sessions, passwords and organizations of a person are not open to it.`,
    body: newApiKey,
    response: { 201: success(withKey), ...failures(403) },
  },
  { answersSecret: true },
)

export const updateApiKey = operation({
  access: 'update/api-key',
  tags,
  summary: 'Change an API key',
  description: `Its role and hubs hold at once, on open connections too. A key that has expired stays so. Nobody changes a key
whose role or hubs reach further than the own, and a key changes role, hubs or end of none that lives longer.`,
  params,
  body: patch,
  response: { 200: success(apiKey), ...failures(403, 409) },
})

export const rotateApiKey = operation(
  {
    access: 'update/api-key',
    tags,
    summary: 'Replace the secret of an API key',
    description: `The new key is shown once. The former one is valid for \`overlapSeconds\`; one from an earlier rotation ends at once. Of two
rotations at the same time one is carried out, the other is 409. A body may be left out.`,
    params,
    body: rotation.default({ overlapSeconds: 0 }),
    response: { 200: success(withKey), ...failures(403, 409) },
  },
  { answersSecret: true },
)

export const deleteApiKey = operation({
  access: 'delete/api-key',
  tags,
  summary: 'Delete an API key',
  description: `It ends at once and everywhere, and its sockets and connections are closed. What it wrote keeps its name.
Nobody deletes a key whose role or hubs reach further than the own.`,
  params,
  response: { 200: deleted },
})
