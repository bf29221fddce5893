import { z } from 'zod'
import { FLOW_SORTS } from '../../../db/queries/flows.ts'
import type { Step } from '../../../db/schema/flows.ts'
import {
  deleted,
  failures,
  id,
  isSample,
  list,
  pathId,
  reference,
  success,
  text,
} from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { field, label, newField } from '../data-types/fields.ts'
import { STANDARD_STEPS } from './templates.ts'

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
  fields: z.array(newField).max(200).default([]).describe('The fields that the step asks for'),
})

const newFlow = z
  .strictObject({
    name: newName(100).meta({ examples: ['Pickup'] }),
    dataTypeId: reference
      .nullable()
      .default(null)
      .meta({ examples: [null] }),
    steps: z
      .array(step)
      .min(1)
      .max(100)
      .prefault(() => structuredClone(STANDARD_STEPS) as Step[])
      .describe('Without them: unassigned, assigned, accepted and so on to completed, failed or cancelled')
      .meta({ examples: [[{ status: 'completed', label: 'Completed', next: [], fields: [] }]] }),
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
  name: text('Pickup'),
  isDefault: z.boolean().describe('Whether it was created with the organization'),
  dataTypeId: id.nullable(),
  steps: z.array(
    z.object({
      status: text('in_progress'),
      label: text('In progress'),
      next: z.array(text('completed')),
      fields: z.array(field),
    }),
  ),
  isSample,
  createdAt: z.date(),
  updatedAt: z.date(),
})

nameSchemas({ NewStep: step, NewFlow: newFlow, Flow: flow, Step: flow.shape.steps.element })

const tags = ['Flows']
const params = z.object({ id: pathId })

export const listFlows = operation({
  access: 'view/flow',
  tags,
  summary: 'The flows of the organization',
  description: 'A flow lists the steps of a task and the fields that each step asks for.',
  querystring: listQuery(FLOW_SORTS, 'createdAt'),
  response: { 200: list(flow) },
})

export const getFlow = operation({
  access: 'view/flow',
  tags,
  summary: 'A flow',
  description: 'With its steps, and the fields that each of them asks for.',
  params,
  response: { 200: success(flow) },
})

export const createFlow = operation({
  access: 'create/flow',
  tags,
  summary: 'Create a flow',
  description: 'Each status occurs once, and `next` names statuses of this flow.',
  body: newFlow,
  response: { 201: success(flow), ...failures(409) },
})

export const replaceFlow = operation({
  access: 'update/flow',
  tags,
  summary: 'Replace a flow',
  description: 'Default flows may be replaced too. A step stays while tasks are in it (409).',
  params,
  body: newFlow,
  response: { 200: success(flow), ...failures(409) },
})

export const deleteFlow = operation({
  access: 'delete/flow',
  tags,
  summary: 'Delete a flow',
  description: 'Default flows may be deleted too, while no task goes by them.',
  params,
  response: { 200: deleted, ...failures(409) },
})
