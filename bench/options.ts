import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Way } from './limit/find-limit.ts'
import { FORMS, type Form } from './limit/statements.ts'
import type { Checkout } from './server.ts'
import { TIERS, type TierName } from './tiers.ts'

export const FIGURES = [
  'ingest',
  'safety',
  'history',
  'disk',
  'connections',
  'live',
  'tasks',
  'import',
  'export',
  'beside',
  'console',
  'first-minute',
  'broker',
] as const
export type Figure = (typeof FIGURES)[number]

export interface Options extends Checkout {
  figures: Figure[]
  tiers: TierName[]
  /** The length of each window. */
  seconds: number
  rounds: number
  /** The rows of imported and exported files. */
  records: number
  /** 20 million rows in the growth figure instead of 2 million. */
  full: boolean
  /** How long a measurement waits for a quiet machine. */
  patienceSeconds: number
  /** How long a screen is left open to watch its memory; 0 leaves the measurement out. */
  minutes: number
  /** With geofences, ingest is measured with and without them instead of against its limit. */
  fences: number
  /** How the limit is run; without it the fastest way is searched. */
  limit?: Way
}

const USAGE = `npm run bench -- [${FIGURES.join(' ')}] [--tier ${TIERS.join('|')}] [--seconds N] [--rounds N] [--records N] [--full] [--patience SECONDS] [--fences N]
  [--minutes N] [--root FOLDER] [--node ARGUMENTS] [--limit ${FORMS.join('|')}:CONNECTIONS:ROWS]`

/** The options of the command line. Throws the usage text if they are wrong. */
export function readOptions(args: string[]): Options {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      tier: { type: 'string' },
      seconds: { type: 'string', default: '10' },
      rounds: { type: 'string', default: '3' },
      records: { type: 'string', default: '1000000' },
      full: { type: 'boolean', default: false },
      root: { type: 'string', default: dirname(dirname(fileURLToPath(import.meta.url))) },
      patience: { type: 'string', default: '20' },
      node: { type: 'string', default: '' },
      limit: { type: 'string' },
      fences: { type: 'string', default: '0' },
      minutes: { type: 'string', default: '0' },
    },
  })
  const figures = positionals.length > 0 ? positionals : [...FIGURES]
  const tiers = values.tier ? [values.tier] : [...TIERS]
  const seconds = Number(values.seconds)
  const rounds = Number(values.rounds)
  const records = Number(values.records)
  const known =
    figures.every(figure => FIGURES.includes(figure as Figure)) &&
    tiers.every(tier => TIERS.includes(tier as TierName)) &&
    seconds > 0 &&
    Number(values.patience) >= 0 &&
    Number(values.minutes) >= 0 &&
    Number.isInteger(Number(values.fences)) &&
    Number(values.fences) >= 0 &&
    Number.isInteger(rounds) &&
    rounds > 0 &&
    Number.isInteger(records) &&
    records > 0
  if (!known) throw new Error(USAGE)
  return {
    figures: figures as Figure[],
    tiers: tiers as TierName[],
    seconds,
    rounds,
    records,
    patienceSeconds: Number(values.patience),
    full: values.full,
    fences: Number(values.fences),
    minutes: Number(values.minutes),
    root: resolve(values.root),
    nodeArgs: values.node.split(' ').filter(Boolean),
    limit: values.limit === undefined ? undefined : readWay(values.limit),
  }
}

function readWay(text: string): Way {
  const [form, connections, rows] = text.split(':')
  if (!FORMS.includes(form as Form) || !(Number(connections) > 0) || !(Number(rows) > 0))
    throw new Error(USAGE)
  return { form: form as Form, connections: Number(connections), rows: Number(rows) }
}
