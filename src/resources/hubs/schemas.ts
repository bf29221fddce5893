import { z } from 'zod'
import { HUB_SORTS } from '../../../db/queries/hubs.ts'
import { deleted, failures, id, isSample, list, pathId, success, text } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

const fields = {
  name: newName(100).meta({ examples: ['Berlin'] }),
  lat: z
    .number()
    .min(-90)
    .max(90)
    .meta({ examples: [52.52] }),
  lng: z
    .number()
    .min(-180)
    .max(180)
    .meta({ examples: [13.405] }),
  address: z
    .string()
    .trim()
    .max(500)
    .nullable()
    .meta({ examples: ['Alexanderplatz 1, 10178 Berlin'] }),
}

const hub = z.object({
  _id: id,
  ...fields,
  name: text('Berlin'),
  isSample,
  createdAt: z.date(),
  updatedAt: z.date(),
})

nameSchemas({ Hub: hub })

const tags = ['Hubs']
const params = z.object({ id: pathId })

export const listHubs = operation({
  access: 'view/hub',
  tags,
  summary: 'The hubs that the caller has access to',
  description: 'Owner and Admin have access to every hub.',
  querystring: listQuery(HUB_SORTS, 'name'),
  response: { 200: list(hub) },
})

export const getHub = operation({
  access: 'view/hub',
  tags,
  summary: 'A hub',
  description: 'Where work starts from: a depot, a branch, an office.',
  params,
  response: { 200: success(hub) },
})

export const createHub = operation({
  access: 'create/hub',
  tags,
  summary: 'Create a hub',
  description: 'Its creator has access to it at once; others are given it with `PATCH /user/{id}`.',
  body: z.strictObject({ ...fields, address: fields.address.default(null) }),
  response: { 201: success(hub) },
})

export const updateHub = operation({
  access: 'update/hub',
  tags,
  summary: 'Change a hub',
  description: 'Fields that are left out stay as they are.',
  params,
  body: z.strictObject(fields).partial(),
  response: { 200: success(hub) },
})

export const deleteHub = operation({
  access: 'delete/hub',
  tags,
  summary: 'Delete a hub',
  description: 'Possible once no team, vehicle, device, connection or task is bound to it.',
  params,
  response: { 200: deleted, ...failures(409) },
})
