import { z } from 'zod'
import { FIELD_TYPES } from '../../../db/schema/flows.ts'
import { anyValue, id, reference, text } from '../../http/envelope.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas } from '../../http/operation.ts'

export const label = newName(200)

/** A field as a data type or the step of a flow defines it. */
export const newField = z.strictObject({
  key: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_]*$/, 'A key has letters, digits and _, and starts with a letter.')
    .max(100)
    .meta({ examples: ['receivedBy'] }),
  label: label.meta({ examples: ['Received by'] }),
  type: z.enum(FIELD_TYPES).meta({ examples: ['text'] }),
  required: z.boolean().default(false),
  unique: z.boolean().default(false),
  options: z
    .array(z.string().trim().min(1).max(200))
    .max(500)
    .default([])
    .meta({ examples: [[]] })
    .describe('The values that may be selected'),
  default: anyValue.default(null),
  order: z.int().min(0).max(10_000).default(0),
  dataTypeId: reference
    .nullable()
    .default(null)
    .describe('The data type that a reference refers to')
    .meta({ examples: [null] }),
})

/** A field in an answer. */
export const field = z.object({
  key: text('receivedBy'),
  label: text('Received by'),
  type: z.enum(FIELD_TYPES),
  required: z.boolean(),
  unique: z.boolean(),
  options: z.array(text('recipient')),
  default: anyValue.optional(),
  order: z.int(),
  dataTypeId: id.nullable(),
})

nameSchemas({ NewFieldDefinition: newField, FieldDefinition: field })
