import type { NewFlow } from '../../../db/queries/flows.ts'
import type { Field, FieldType, Step } from '../../../db/schema/flows.ts'

/** The default statuses of tasks (contract section 6), each with its possible next ones. */
const STATUSES: readonly [status: string, label: string, next: string[]][] = [
  ['unassigned', 'Unassigned', ['assigned', 'cancelled']],
  ['assigned', 'Assigned', ['accepted', 'unassigned', 'cancelled']],
  ['accepted', 'Accepted', ['on_the_way', 'assigned', 'cancelled']],
  ['on_the_way', 'On the way', ['in_progress', 'failed', 'cancelled']],
  ['in_progress', 'In progress', ['completed', 'failed', 'cancelled']],
  ['completed', 'Completed', []],
  ['failed', 'Failed', ['assigned', 'cancelled']],
  ['cancelled', 'Cancelled', []],
]

export const field = (key: string, label: string, type: FieldType, rest: Partial<Field> = {}): Field => ({
  key,
  label,
  type,
  required: false,
  unique: false,
  options: [],
  default: null,
  order: 0,
  dataTypeId: null,
  ...rest,
})

/** The steps of the default statuses, with the fields that they ask for. */
export function steps(fields: { [status: string]: Field[] }): Step[] {
  return STATUSES.map(([status, label, next]) => ({
    status,
    label,
    next,
    fields: (fields[status] ?? []).map((one, order) => ({ ...one, order })),
  }))
}

const whyNot = [field('reason', 'Reason', 'text', { required: true })]

/** The steps of a flow that names none. */
export const STANDARD_STEPS: readonly Step[] = steps({})

/** The flows that every organization starts with. */
export const DEFAULT_FLOWS: readonly NewFlow[] = [
  { name: 'Standard', dataTypeId: null, steps: steps({ failed: whyNot }) },
  {
    name: 'Delivery',
    dataTypeId: null,
    steps: steps({
      completed: [
        field('receivedBy', 'Received by', 'text', { required: true }),
        field('leftAt', 'Left at', 'select', { options: ['recipient', 'neighbour', 'safe place'] }),
      ],
      failed: [
        field('reason', 'Reason', 'select', {
          required: true,
          options: ['nobody there', 'wrong address', 'refused', 'damaged'],
        }),
      ],
    }),
  },
  {
    name: 'Service visit',
    dataTypeId: null,
    steps: steps({
      in_progress: [field('findings', 'Findings', 'text')],
      completed: [
        field('workDone', 'Work done', 'text', { required: true }),
        field('followUp', 'Follow-up needed', 'boolean'),
      ],
      failed: whyNot,
    }),
  },
]
