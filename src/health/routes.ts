import type { App, Services } from '../services.ts'

const ANSWER_WITHIN_MS = 2_000

/** Outside /api/v3: whether the process lives, whether it can work, and its figures. */
export async function healthRoutes(app: App, services: Services): Promise<void> {
  app.get('/health', async () => ({ status: true, message: 'Alive' }))

  app.get('/ready', async (_request, reply) => {
    const answers = services.db.autocommit.query('SELECT 1').then(
      () => true,
      () => false,
    )
    const late = new Promise<boolean>(resolve => setTimeout(resolve, ANSWER_WITHIN_MS, false).unref())
    const database = await Promise.race([answers, late])
    const listeners = services.listening()
    const ready = database && listeners
    reply.code(ready ? 200 : 503)
    return { status: ready, message: ready ? 'Ready' : 'Not ready', data: { database, listeners } }
  })

  app.get('/metrics', async (_request, reply) => {
    reply.type(services.metrics.registry.contentType)
    return services.metrics.registry.metrics()
  })
}
