import type { FieldDefinition } from '../data/data-queries.ts'
import { draftOf, type FieldDraft, readDraft } from '../data/field-value.ts'
import { NO_PLACE, type PlaceDraft } from '../place-draft.ts'
import type { Flow, Task } from './task.ts'

const HOUR_MS = 3_600_000
/** When a task of a day to come begins, until somebody chooses another time. */
const MORNING_MS = 9 * HOUR_MS

interface TaskValues {
  name: string
  flowId: string
  dataIds: string[]
  hubId: string
  teamId: string
  assigneeId: string
  vehicleId: string
  location: PlaceDraft
  startTime: string
  endTime: string
  content: Record<string, FieldDraft>
}

/** The fields that content has in a flow: those of its steps. Every other key is a text. */
export function contentFields(flow: Flow | undefined, content: object): FieldDefinition[] {
  const ofFlow = new Map(flow?.steps.flatMap(({ fields }) => fields).map(field => [field.key, field]))
  const others = Object.keys(content)
    .filter(key => !ofFlow.has(key))
    .map(key => textField(key))
  return [...ofFlow.values(), ...others].map(field => ({ ...field, required: false }))
}

const textField = (key: string): FieldDefinition => ({
  key,
  label: key,
  type: 'text',
  required: false,
  unique: false,
  options: [],
  order: 0,
  dataTypeId: null,
})

const isPlain = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)

/** The values of a form. Content that a form cannot edit, such as a list of objects, stays as it is. */
export const valuesOf =
  (flows: readonly Flow[], first: { startTime: string; endTime: string }) =>
  (task: Task | null): TaskValues => {
    const flow = flows.find(({ _id }) => _id === task?.flowId)
    const known = new Set(flow?.steps.flatMap(({ fields }) => fields).map(({ key }) => key))
    const own = Object.fromEntries(
      Object.entries(task?.content ?? {}).filter(([key, value]) => known.has(key) || isPlain(value)),
    )
    return {
      name: task?.name ?? '',
      flowId: task?.flowId ?? '',
      dataIds: task?.dataIds ?? [],
      hubId: task?.hubId ?? '',
      teamId: task?.teamId ?? '',
      assigneeId: task?.assigneeId ?? '',
      vehicleId: task?.vehicleId ?? '',
      location: task?.location ? { ...task.location, address: task.location.address ?? '' } : NO_PLACE,
      startTime: task ? (task.startTime ?? '') : first.startTime,
      endTime: task ? (task.endTime ?? '') : first.endTime,
      content: Object.fromEntries(
        contentFields(flow, own).map(field => [field.key, draftOf(field, own[field.key])]),
      ),
    }
  }

/** The window of a new task: the next full hour of today, or the morning of another day. */
export function firstWindow(day: { from: number; to: number }, now: number) {
  const next = Math.ceil(now / HOUR_MS) * HOUR_MS
  const isToday = now >= day.from && next < day.to
  const start = isToday ? next : day.from + MORNING_MS
  return { startTime: new Date(start).toISOString(), endTime: new Date(start + HOUR_MS).toISOString() }
}

/** The content that differs from before, by key; null takes a value away. */
export function changedContent(values: TaskValues, first: TaskValues, flow: Flow | undefined) {
  const fields = contentFields(flow, values.content)
  const changed = fields.filter(
    ({ key }) => JSON.stringify(values.content[key]) !== JSON.stringify(first.content[key]),
  )
  return Object.fromEntries(
    changed.map(field => [field.key, readDraft(field, values.content[field.key] ?? '')] as const),
  )
}
