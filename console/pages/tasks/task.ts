import type { components } from '../../api/interface.d.ts'

type Schemas = components['schemas']
export type Task = Schemas['Task']
export type Flow = Schemas['Flow']
export type Vehicle = Schemas['Vehicle']
export type Person = Schemas['Assignee']

/** Who or what a task is given to. Fields that are left out stay. */
export type Target = Partial<Pick<Task, 'assigneeId' | 'vehicleId' | 'teamId'>>
