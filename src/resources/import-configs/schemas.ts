import { z } from 'zod'
import { IMPORT_CONFIG_SORTS } from '../../../db/queries/import-configs.ts'
import { deleted, failures, id, list, pathId, reference, success, text } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

/** The maximum of a cell as well. */
export const MAX_HEADING = 500
/** The maximum of a data type's fields as well. */
const MAX_MAPPED = 200

const MAPPING = {
  description:
    'The heading of a column by the key of the field that it goes to; of a place also those of its latitude, its longitude and, where there is one, its address: `{ "place": ["stop_lat", "stop_lon"] }`',
  examples: [{ name: 'Customer name', phone: 'Phone' }],
}

/** One column, or those of a latitude, a longitude and optionally an address, in an answer. */
export const columns = z.union([z.string(), z.array(z.string())])

const PLACE_COLUMNS =
  'A place has the columns of its latitude and its longitude, and perhaps that of its address.'
const heading = z.string().trim().min(1).max(MAX_HEADING)
export const mapping = z
  .record(
    z.string().max(100),
    z.union([
      heading,
      z
        .array(heading)
        .min(2, PLACE_COLUMNS)
        .max(3, PLACE_COLUMNS)
        .refine(names => new Set(names).size === names.length, 'A place takes each of its columns once.'),
    ]),
  )
  .refine(columns => Object.keys(columns).length > 0, 'At least one field has to be mapped to a column.')
  .refine(columns => Object.keys(columns).length <= MAX_MAPPED, `At most ${MAX_MAPPED} fields can be mapped.`)
  .meta(MAPPING)

const fields = {
  name: newName(100).meta({ examples: ['Customers from the shop'] }),
  resource: z.literal('data').default('data'),
  dataTypeId: reference.meta({ examples: ['0190aaaa-0000-7000-8000-000000000000'] }),
  mapping,
}

const importConfig = z.object({
  _id: id,
  ...fields,
  name: text('Customers from the shop'),
  resource: z.literal('data'),
  dataTypeId: id,
  mapping: z
    .record(z.string(), columns)
    .meta({ ...MAPPING, description: `${MAPPING.description}, without fields that the role restricts` }),
  typeChanges: z
    .array(z.object({ field: text('phone'), message: text('The data type has no field phone any more.') }))
    .describe('Changes of the data type since the mapping was written, as far as they concern the mapping')
    .meta({ examples: [[]] }),
  createdAt: z.date(),
  updatedAt: z.date(),
})

const tags = ['Imports']
const params = z.object({ id: pathId })
const body = z.strictObject(fields)

nameSchemas({ ImportConfig: importConfig, NewImportConfig: body, MappedColumns: columns })

export const listImportConfigs = operation({
  access: 'view/import-config',
  tags,
  summary: 'The import configs',
  description: 'Presets that map the columns of a file to fields, for files that come again and again.',
  querystring: listQuery(IMPORT_CONFIG_SORTS, 'name').extend({ dataTypeId: z.string().optional() }),
  response: { 200: list(importConfig) },
})

export const getImportConfig = operation({
  access: 'view/import-config',
  tags,
  summary: 'An import config',
  description: '`typeChanges` says what has changed in the data type since the mapping was written.',
  params,
  response: { 200: success(importConfig) },
})

export const createImportConfig = operation({
  access: 'create/import-config',
  tags,
  summary: 'Create an import config',
  description: 'The keys of `mapping` are fields of the data type, its values headings of a file.',
  body,
  response: { 201: success(importConfig), ...failures(409) },
})

export const replaceImportConfig = operation({
  access: 'update/import-config',
  tags,
  summary: 'Replace an import config',
  description:
    'The mapping is checked against the data type as it is now. Columns of a field that has been deleted since may stay as they are, and `typeChanges` tells of these alone afterwards. What the mapping has of fields that the role restricts stays, unless the request names them.',
  params,
  body,
  response: { 200: success(importConfig), ...failures(409) },
})

export const deleteImportConfig = operation({
  access: 'delete/import-config',
  tags,
  summary: 'Delete an import config',
  description: 'Imports that were made with it stay as they are.',
  params,
  response: { 200: deleted },
})
