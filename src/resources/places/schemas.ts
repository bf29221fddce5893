import { z } from 'zod'
import { success, text } from '../../http/envelope.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

const MAX_POINTS = 100
/** A parameter of an address is text; a body has numbers. */
const within = (number: z.ZodNumber, max: number, example: number) =>
  number
    .min(-max)
    .max(max)
    .meta({ examples: [example] })
const asLat = (number: z.ZodNumber) => within(number, 90, -37.5384)
const asLng = (number: z.ZodNumber) => within(number, 180, 145.4712)
const [lat, lng] = [asLat(z.number()), asLng(z.number())]

const place = z.object({
  name: text('Main Road, Toolangi').describe('Street and town, as far as they are known'),
  street: text('Main Road').nullable().describe('The nearest street with a name, at most 500 m away'),
  town: text('Toolangi').nullable().describe('The city, town or village'),
  country: text('Australia').nullable().describe('In English'),
  distance: z
    .number()
    .meta({ examples: [12] })
    .describe('Metres to the street, or to the middle of the town where there is no street'),
  lat: lat.optional().describe('The place of a search result'),
  lng: lng.optional(),
})

const answer = success(z.array(place.nullable()))

nameSchemas({ NamedPlace: place, NamedPlaces: answer })

const tags = ['Maps']
const source = `It comes from the vector tiles of \`BASEMAP\`, and no other service is asked. Null where the basemap has neither
a street nor a town there, where its tiles are images, or where they cannot be read now.`

export const findPlaces = operation(
  {
    access: 'session',
    tags,
    summary: 'Where a point is in words, or where a street or town is',
    description: `With \`lat\` and \`lng\` an array of one: the nearest street with a name, its town and country. With \`search\` at
most 20 streets and towns of the loaded area, each with \`lat\` and \`lng\`: of a local archive as much as fits into 50,000 names, of an
archive that another server holds the tiles that were looked at. \`lat\` and \`lng\` beside \`search\` put near ones first, and
\`distance\` is from there, else 0. ${source} The token of a tracking link opens it too.`,
    querystring: z.object({
      lat: asLat(z.coerce.number()).optional(),
      lng: asLng(z.coerce.number()).optional(),
      search: z
        .string()
        .min(1)
        .max(100)
        .optional()
        .meta({ examples: ['main'] }),
      token: text('kTq0T7o5Rk2m1yXjN4Zs8Qw3uEvBhGfLcPdAiSoYx6M')
        .optional()
        .describe('The token of a tracking link'),
    }),
    response: { 200: answer },
  },
  { linkToken: true, apiKey: true },
)

export const describePoints = operation(
  {
    access: 'session',
    tags,
    summary: 'Where points are in words',
    description: `As \`GET /places\`, for up to ${MAX_POINTS} points: one answer for each, in their order. ${source}`,
    body: z.strictObject({ points: z.array(z.strictObject({ lat, lng })).max(MAX_POINTS) }),
    response: { 200: answer },
  },
  { apiKey: true },
)
