import { z } from 'zod'
import { text } from '../../http/envelope.ts'
import { operation } from '../../http/operation.ts'

const number = (example: number) =>
  z.coerce
    .number()
    .int()
    .min(0)
    .meta({ examples: [example] })
const bytes = z.unknown().meta({ type: 'string', format: 'binary', examples: ['The bytes of a tile'] })

export const getTile = operation(
  {
    access: 'session',
    tags: ['Maps'],
    summary: 'A tile of the basemap',
    description: `For any signed-in user or API key, and for the holder of a tracking link, with its \`token\`. A vector tile of the Protomaps
schema or an image, as \`BASEMAP\` has it; the same for everybody. It is read from the archive or server that \`BASEMAP\` names and
kept; 503 where that does not answer and the tile is not kept.`,
    params: z.object({ z: number(14), x: number(14814), y: number(10037) }),
    querystring: z.object({
      token: text('kTq0T7o5Rk2m1yXjN4Zs8Qw3uEvBhGfLcPdAiSoYx6M')
        .optional()
        .describe('The token of a tracking link'),
      v: z
        .string()
        .max(64)
        .optional()
        .describe('Any text: a browser keeps tiles of different texts apart')
        .meta({ examples: ['x8Vd0hJm2KqT'] }),
    }),
    response: {
      200: {
        description: 'The tile',
        content: {
          'application/vnd.mapbox-vector-tile': { schema: bytes },
          'image/png': { schema: bytes },
          'image/jpeg': { schema: bytes },
          'image/webp': { schema: bytes },
          'image/avif': { schema: bytes },
        },
      },
      204: z.null().describe('There is no such tile: nothing is there to be drawn'),
      304: z.null().describe('It is the one of `If-None-Match`'),
    },
  },
  { linkToken: true, apiKey: true, apart: ' tiles' },
)
