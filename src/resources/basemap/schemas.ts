import { z } from 'zod'
import { isPublicArchive } from '../../basemap/public-archive.ts'
import { success, text } from '../../http/envelope.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

const MAX_URL_LENGTH = 2_000
const EXAMPLE = 'https://maps.example/city.pmtiles'

const tiles = z.object({
  vector: z.boolean().describe('Vector tiles of the Protomaps schema; else images'),
  minZoom: z.int(),
  maxZoom: z.int(),
  bounds: z.array(z.number()).describe('West, south, east and north in degrees'),
  version: text('x8Vd0hJm2KqT').describe('Differs where the tiles do'),
})

const basemap = z.object({
  url: text(EXAMPLE)
    .nullable()
    .describe('The archive that was chosen; null is none, and what organizations see that may not choose'),
  mayChoose: z
    .boolean()
    .describe('Whether this organization may choose: it is the first of the server, and `BASEMAP` is unset'),
  isFixed: z.boolean().describe('Whether `BASEMAP` names the basemap'),
  keptMb: z
    .number()
    .meta({ examples: [1_000] })
    .describe('The most that is kept of an archive on the server’s disk, `BASEMAP_CACHE_MB`'),
  tiles: tiles.nullable().describe('Null until the server that holds the archive has answered once'),
})

nameSchemas({ Basemap: basemap, BasemapTiles: tiles })

const tags = ['Maps']
const response = { 200: success(basemap) }

export const getBasemap = operation({
  access: 'update/organization',
  tags,
  summary: 'The basemap of the server',
  description:
    'One basemap serves all organizations of a server. The first of them, by its age, may choose it.',
  response,
})

export const chooseBasemap = operation({
  access: 'update/organization',
  tags,
  summary: 'Choose the basemap of the server',
  description: `The archive is read before it is taken, and used at once, without a restart; other processes of a cluster follow
within ten seconds. null is the usual basemap again. 403 where another organization is the first of the server, 409 where \`BASEMAP\`
names the basemap. An archive at http or at a private address is taken from \`BASEMAP\` alone.`,
  body: z.strictObject({
    url: z
      .string()
      .max(MAX_URL_LENGTH)
      .refine(
        isPublicArchive,
        'This has to be the public https address of a .pmtiles archive, without a user name.',
      )
      .nullable()
      .meta({ examples: [EXAMPLE] }),
  }),
  response,
})
