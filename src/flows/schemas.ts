import { z } from 'zod'
import { field, label, newField } from '../data-types/fields.ts'
import { id } from '../envelope.ts'

const status = z
  .string()
  .regex(/^[a-z][a-z0-9_]*$/, 'A status has small letters, digits and _, and starts with a letter.')
  .max(50)

const step = z.strictObject({
  status: status.meta({ examples: ['completed'] }),
  label: label.meta({ examples: ['Completed'] }),
  next: z
    .array(status)
    .max(100)
    .default([])
    .meta({ examples: [[]] })
    .describe('The statuses that may follow'),
  fields: z.array(newField).max(200).default([]).describe('What the step asks for'),
})

export const newFlow = z
  .strictObject({
    name: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .meta({ examples: ['Pickup'] }),
    dataTypeId: z
      .string()
      .nullable()
      .default(null)
      .meta({ examples: [null] }),
    steps: z.array(step).min(1).max(100),
  })
  .superRefine(({ steps }, context) => {
    const statuses = steps.map(({ status }) => status)
    const wrong = (path: (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path, message })
    steps.forEach(({ status, next, fields }, at) => {
      if (statuses.indexOf(status) < at) wrong(['steps', at, 'status'], `The status ${status} occurs twice.`)
      next.forEach((name, index) => {
        if (!statuses.includes(name)) wrong(['steps', at, 'next', index], `No step has the status ${name}.`)
      })
      fields.forEach(({ key, type, options }, index) => {
        const path = ['steps', at, 'fields', index]
        if (fields.findIndex(other => other.key === key) < index)
          wrong([...path, 'key'], `The key ${key} occurs twice.`)
        if (/select$/.test(type) && options.length === 0)
          wrong([...path, 'options'], 'Something has to be there to select from.')
      })
    })
  })

export const flow = z.object({
  _id: id,
  name: z.string(),
  isDefault: z.boolean().describe('Whether it was made with the organization'),
  dataTypeId: id.nullable(),
  steps: z.array(
    z.object({
      status: z.string(),
      label: z.string(),
      next: z.array(z.string()),
      fields: z.array(field),
    }),
  ),
  createdAt: z.date(),
  updatedAt: z.date(),
})
