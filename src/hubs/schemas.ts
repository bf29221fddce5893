import { z } from 'zod'
import { id } from '../envelope.ts'

const fields = {
  name: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .meta({ examples: ['Berlin'] }),
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

export const hub = z.object({
  _id: id,
  ...fields,
  name: z.string(),
  createdAt: z.date(),
  updatedAt: z.date(),
})

export const newHub = z.strictObject({ ...fields, address: fields.address.default(null) })

export const hubChange = z.strictObject(fields).partial()
