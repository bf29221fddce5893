import { z } from 'zod'
import type { App, Services } from '../services.ts'

const ANSWER_WITHIN_MS = 2_000

/** Outside /api/v3: whether the process lives, whether it can work, and its figures. */
export async function healthRoutes(app: App, services: Services): Promise<void> {
  const tags = ['Process']
  const open = { 'x-permission': 'public', security: [] }

  app.get(
    '/health',
    {
      schema: {
        tags,
        summary: 'Whether the process lives',
        description: 'Answers as long as the process can answer at all.',
        ...open,
        response: { 200: z.object({ status: z.literal(true), message: z.string() }).describe('It lives') },
      },
    },
    async () => ({ status: true as const, message: 'Alive' }),
  )

  app.get('/ready', { schema: { tags, ...readySchema, ...open } }, async (_request, reply) => {
    const asked = Object.entries(services.dependencies).map(async ([name, answers]) => [
      name,
      await inTime(answers()),
    ])
    const dependencies: Record<string, boolean> = Object.fromEntries(await Promise.all(asked))
    const listeners = services.listening()
    const ready = listeners && Object.values(dependencies).every(answers => answers)
    reply.code(ready ? 200 : 503)
    return { status: ready, message: ready ? 'Ready' : 'Not ready', data: { ...dependencies, listeners } }
  })

  app.get('/metrics', { schema: { tags, ...metricsSchema, ...open } }, async (_request, reply) => {
    reply.type(services.metrics.registry.contentType)
    return services.metrics.registry.metrics()
  })
}

const readiness = z.object({
  status: z.boolean(),
  message: z.string(),
  data: z.record(z.string(), z.boolean()).meta({ examples: [{ database: true, listeners: true }] }),
})

const readySchema = {
  summary: 'Whether the process can work',
  description: 'Once every listener of its roles is open and what it depends on answers.',
  response: {
    200: readiness.describe('Ready'),
    503: readiness.describe('Not ready; `data` says what is missing'),
  },
}

const metricsSchema = {
  summary: 'Figures of the process',
  description: 'In the text format of Prometheus.',
  response: { 200: { description: 'The figures', content: { 'text/plain': { schema: z.string() } } } },
}

async function inTime(answers: Promise<boolean>): Promise<boolean> {
  const late = new Promise<boolean>(resolve => setTimeout(resolve, ANSWER_WITHIN_MS, false).unref())
  return Promise.race([answers.catch(() => false), late])
}
