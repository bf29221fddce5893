import type { App, Services } from '../services.ts'

const ANSWER_WITHIN_MS = 2_000

/** Outside /api/v3: whether the process lives, whether it can work, and its figures. */
export async function healthRoutes(app: App, services: Services): Promise<void> {
  app.get('/health', async () => ({ status: true, message: 'Alive' }))

  app.get('/ready', async (_request, reply) => {
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

  app.get('/metrics', async (_request, reply) => {
    reply.type(services.metrics.registry.contentType)
    return services.metrics.registry.metrics()
  })
}

async function inTime(answers: Promise<boolean>): Promise<boolean> {
  const late = new Promise<boolean>(resolve => setTimeout(resolve, ANSWER_WITHIN_MS, false).unref())
  return Promise.race([answers.catch(() => false), late])
}
