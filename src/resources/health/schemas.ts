import { z } from 'zod'
import { done, failures, text } from '../../http/envelope.ts'
import { nameSchemas } from '../../http/operation.ts'

/** Answers also while the process shuts down. */
const config = { always: true }
/** Outside /api/v3, so these schemas declare what the hooks there add to other operations. */
const open = { tags: ['Process'], 'x-permission': 'public', security: [] }

const readiness = z.object({
  status: z.boolean(),
  message: text('Ready'),
  data: z
    .record(z.string(), z.boolean())
    .meta({ examples: [{ database: true, log: true, disk: true, listeners: true, clock: true }] }),
})
const alive = z.object({
  status: done,
  message: text('Alive'),
  data: z.object({
    version: text('1.4.0'),
    commit: text('9c1185a5c5e9fc54612808977ee8f548b2258d31').describe('`unknown` where the build knew none'),
  }),
})

nameSchemas({ Readiness: readiness, Alive: alive })

export const getHealth = {
  config,
  schema: {
    ...open,
    summary: 'Whether the process lives',
    description:
      'Answers from the first moment of the start, as long as the process can answer at all, with the release that runs.',
    response: { 200: alive.describe('It lives'), ...failures(400) },
  },
}

export const getReadiness = {
  config,
  schema: {
    ...open,
    summary: 'Whether the process can work',
    description:
      "Once every listener of its roles is open and what it depends on answers. No more from the moment that it is told to stop. `clock` is false where its clock is more than 2 s from the database's, which counts: it is ready all the same. `disk` is false where a process that stores points finds no room on the disk of the database: reads are answered all the same, and it goes on by itself. `writer` is false where a writer of the cluster tier has had no place in the writers' group for a minute.",
    response: {
      200: readiness.describe('Ready'),
      ...failures(400),
      503: readiness.describe('Not ready; `data` says what is missing'),
    },
  },
}

export const getMetrics = {
  config,
  schema: {
    ...open,
    summary: 'Figures of the process',
    description: 'In the text format of Prometheus.',
    response: {
      200: { description: 'The figures', content: { 'text/plain': { schema: z.string() } } },
      ...failures(400),
    },
  },
}
