import { z } from 'zod'
import { REASONS } from '../../../stream/point.ts'
import { failures, success, text } from '../../http/envelope.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { CAUSES, type Cause, STATES, SUBJECTS } from './verdicts.ts'

export const PERIODS = ['day', 'month', 'year'] as const

const count = (example: number) => z.number().meta({ examples: [example] })
const known = (example: number) => count(example).nullable()

const sample = z.object({
  at: z.date().describe('The beginning of its minute, hour or day'),
  received: count(61_200).describe('Points received a minute'),
  stored: count(61_180).describe('New points stored a minute'),
  rejected: count(3).describe('Points rejected a minute'),
  rejections: z
    .record(z.string(), z.number())
    .describe(`The rejected points by reason, not a minute but all: ${REASONS.join(', ')}`)
    .meta({ examples: [{ future: 180 }] }),
  online: known(1_020).describe('Users and devices that were not offline, the most at a time'),
  storedSeconds: known(0.04).describe(
    'From receipt to storage, for the oldest point of 95 of 100 batches; null where none was stored',
  ),
  shownSeconds: known(0.2).describe('From receipt to the screens; null where nobody watched'),
  waitingSeconds: known(0).describe('How long the oldest point has been waiting to be stored, at the most'),
  waitingEntries: known(0).describe('Points and rejections that waited in a process, at the most'),
  lagRecords: known(0).describe('Records in Kafka that the writers had not stored; null without Kafka'),
  jobsDue: known(0).describe('Jobs whose time had come, at the most'),
  jobsOldestSeconds: known(1).describe('How long the oldest of them had been waiting'),
  jobsFailed: known(0).describe('Jobs that had failed for good within a day'),
  diskFreeBytes: known(52_000_000_000).describe('Room on the disk of `DATA_DIR`, at the least'),
  diskSizeBytes: known(100_000_000_000),
  databaseBytes: known(8_000_000_000).describe('Size of the database; measured once an hour'),
})
const verdict = z.object({
  figure: z.enum(SUBJECTS),
  state: z.enum(STATES).meta({ examples: ['good'] }),
  cause: z.enum(Object.keys(CAUSES) as [Cause, ...Cause[]]).meta({ examples: ['points-stored'] }),
  message: text(CAUSES['points-stored']).describe('Whether it is well, and otherwise the next step'),
})
const history = z.object({
  period: z.enum(PERIODS),
  sampleSeconds: z
    .int()
    .meta({ examples: [60] })
    .describe('The length of a sample: a minute, an hour or a day'),
  verdicts: z.array(verdict).describe('One for each figure, by the last minutes'),
  diskFullAt: z
    .date()
    .nullable()
    .describe(
      'When the disk is full if it goes on as in the last week; null where that is far away or unknown',
    ),
  samples: z.array(sample).describe('The oldest first; times without any figures are left out'),
})

nameSchemas({ HealthHistory: history, HealthSample: sample, HealthVerdict: verdict })

export const getHealthHistory = operation(
  {
    access: 'update/organization',
    tags: ['Process'],
    summary: 'How the server is doing',
    description: `For the Owner of the first organization of the server, who runs it; 403 for everybody else. Figures of all
processes together: of each minute for a day, of each hour for a month, of each day for a year. They hold no names, positions or addresses.`,
    querystring: z.strictObject({ period: z.enum(PERIODS).default('day') }),
    response: { 200: success(history), ...failures(403) },
  },
  { heavy: true },
)
