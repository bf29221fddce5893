import { z } from 'zod'
import { VEHICLE_SORTS } from '../../../db/queries/vehicles.ts'
import { type Capacity, type Constraints, WEEKDAYS, type WorkingHours } from '../../../db/schema/vehicles.ts'
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

const label = z.string().trim().min(1).max(100)
/** A word each, and none twice. */
const labels = (example: string) =>
  z
    .array(label)
    .max(100)
    .transform(words => [...new Set(words)])
    .meta({ examples: [[example]] })
const amount = (max: number, example: number) =>
  z
    .number()
    .min(0)
    .max(max)
    .nullable()
    .meta({ examples: [example] })
const count = (max: number, example: number) =>
  z
    .int()
    .min(0)
    .max(max)
    .nullable()
    .meta({ examples: [example] })

const TIME_OF_DAY = /^(?:([01]\d|2[0-3]):[0-5]\d|24:00)$/
const timeOfDay = (example: string) =>
  z
    .string()
    .regex(TIME_OF_DAY, 'This has to be a time of day such as 08:00, up to 24:00.')
    .meta({ examples: [example] })

/** Seven days with seven turns each. */
const MAX_TURNS = 49
const workingHours = z
  .array(z.strictObject({ weekday: z.enum(WEEKDAYS), from: timeOfDay('08:00'), to: timeOfDay('17:00') }))
  .max(MAX_TURNS)
  .superRefine((hours, context) => {
    hours.forEach((one, at) => {
      const issue = (path: string[], message: string) =>
        context.addIssue({ code: 'custom', path: [at, ...path], message })
      // Times of day in this form are in the order of their texts.
      if (one.to <= one.from) issue(['to'], 'This has to be after the beginning; a night is two entries.')
      else if (hours.slice(0, at).some(other => overlap(one, other)))
        issue([], `On ${one.weekday} the vehicle works already at that time.`)
    })
  })
  .describe('When it works, in the time zone of the organization')
  .meta({ examples: [[{ weekday: 'mon', from: '08:00', to: '17:00' }]] })

const overlap = (a: WorkingHours, b: WorkingHours) =>
  a.weekday === b.weekday && a.from < b.to && b.from < a.to

const capacity = {
  weight: amount(1e7, 1200).describe('Kilograms'),
  volume: amount(1e6, 11.5).describe('Cubic metres'),
  units: count(1e6, 40).describe('Pieces'),
}
const newCapacity = z.strictObject(capacity).partial()
const constraints = {
  maxDistance: amount(1e8, 250_000).describe('Metres of a route'),
  maxDuration: amount(1e7, 28_800).describe('Seconds of a route'),
  maxStops: count(1e5, 30),
  skills: labels('refrigerated').describe('Skills that its work may require'),
}

const fields = {
  name: newName(100).meta({ examples: ['Van 12'] }),
  plate: z
    .string()
    .trim()
    .max(30)
    .nullable()
    .meta({ examples: ['B-FL 1234'] }),
  speed: z
    .number()
    .positive()
    .max(150)
    .nullable()
    .describe('Metres per second, on average')
    .meta({ examples: [13.9] }),
  tags: labels('electric'),
  hubId: reference.nullable(),
  deviceId: reference
    .nullable()
    .describe(
      'The device that is mounted on it from now on, in place of another one, and taken off where it was',
    ),
  driverId: reference.nullable(),
}

const unknown: Capacity = { weight: null, volume: null, units: null }
const noLimits: Constraints = { maxDistance: null, maxDuration: null, maxStops: null, skills: [] }

/** Whatever is left out has its default: of a new vehicle, and of one that is replaced. */
const newVehicle = z.strictObject({
  ...fields,
  plate: fields.plate.default(null),
  capacity: newCapacity.default({}).transform((given): Capacity => ({ ...unknown, ...given })),
  speed: fields.speed.default(null),
  workingHours: workingHours.default([]),
  tags: fields.tags.default([]),
  constraints: z
    .strictObject(constraints)
    .partial()
    .default({})
    .transform((given): Constraints => ({ ...noLimits, ...given })),
  hubId: fields.hubId.default(null),
  deviceId: fields.deviceId.default(null),
  driverId: fields.driverId.default(null),
})

/** RFC 7396: what is left out stays, null takes away, objects are merged and lists replaced. */
const vehiclePatch = z
  .strictObject({
    ...fields,
    tags: fields.tags.nullable(),
    capacity: newCapacity.nullable(),
    workingHours: workingHours.nullable(),
    constraints: z
      .strictObject({ ...constraints, skills: constraints.skills.nullable() })
      .partial()
      .nullable(),
  })
  .partial()

export type NewVehicleBody = z.output<typeof newVehicle>
export type VehiclePatch = z.output<typeof vehiclePatch>

/** Applies a patch to a vehicle. The result is valid: no rule concerns two members that are merged separately. */
export function mergeVehicle(before: NewVehicleBody, patch: VehiclePatch): NewVehicleBody {
  const { capacity = {}, constraints = {}, workingHours, tags, ...plain } = patch
  const limits = { ...before.constraints, ...constraints }
  return {
    ...before,
    ...plain,
    ...(tags === undefined ? {} : { tags: tags ?? [] }),
    ...(workingHours === undefined ? {} : { workingHours: workingHours ?? [] }),
    capacity: capacity ? { ...before.capacity, ...capacity } : unknown,
    constraints: constraints ? { ...limits, skills: limits.skills ?? [] } : noLimits,
  }
}

const vehicle = z.object({
  _id: id,
  name: text('Van 12'),
  plate: text('B-FL 1234').nullable(),
  capacity: z.object(capacity),
  speed: fields.speed,
  workingHours: z.array(z.object({ weekday: z.enum(WEEKDAYS), from: text('08:00'), to: text('17:00') })),
  tags: z.array(text('electric')),
  constraints: z.object({ ...constraints, skills: z.array(text('refrigerated')) }),
  hubId: id.nullable(),
  deviceId: id.nullable().describe('The device that is mounted on it'),
  driverId: id.nullable(),
  isSample,
  createdAt: z.date(),
  updatedAt: z.date(),
})

nameSchemas({
  NewVehicle: newVehicle,
  VehiclePatch: vehiclePatch,
  Vehicle: vehicle,
  NewWorkingHours: workingHours.element,
  NewCapacity: newCapacity,
})

const tags = ['Vehicles']
const params = z.object({ id: pathId })

export const listVehicles = operation({
  access: 'view/vehicle',
  tags,
  summary: 'The vehicles of the organization',
  description: `Those of the caller's hubs and of none; Owner and Admin see every one.`,
  querystring: listQuery(VEHICLE_SORTS, 'name').extend({
    hubId: z.string().optional().describe('Hubs, separated by commas'),
    driverId: z.string().optional().describe('Drivers, separated by commas'),
    tags: z.string().optional().describe('Tags, separated by commas: vehicles that bear one of them'),
  }),
  response: { 200: list(vehicle) },
})

export const getVehicle = operation({
  access: 'view/vehicle',
  tags,
  summary: 'A vehicle',
  description: 'With the device that is mounted on it.',
  params,
  response: { 200: success(vehicle) },
})

export const createVehicle = operation({
  access: 'create/vehicle',
  tags,
  summary: 'Create a vehicle',
  description:
    'Only its name is required. Working hours of one weekday may not overlap, and end after they begin.',
  body: newVehicle,
  response: { 201: success(vehicle), ...failures(409) },
})

export const replaceVehicle = operation({
  access: 'update/vehicle',
  tags,
  summary: 'Replace a vehicle',
  description: 'Missing fields get their defaults: without `deviceId` no device is mounted any more.',
  params,
  body: newVehicle,
  response: { 200: success(vehicle), ...failures(409) },
})

export const updateVehicle = operation({
  access: 'update/vehicle',
  tags,
  summary: 'Change a vehicle',
  description:
    'A JSON merge patch (RFC 7396): what is left out stays, `null` takes away, `capacity` and `constraints` are merged by their members, lists are replaced.',
  params,
  body: vehiclePatch,
  response: { 200: success(vehicle), ...failures(409) },
})

export const deleteVehicle = operation({
  access: 'delete/vehicle',
  tags,
  summary: 'Delete a vehicle',
  description: 'Its device stays, and so does the history of that.',
  params,
  response: { 200: deleted },
})
