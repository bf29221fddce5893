import { setTimeout as sleep } from 'node:timers/promises'
import type { Release } from '../../http/release.ts'
import type { App, Services } from '../../services.ts'
import * as operations from './schemas.ts'

const ANSWER_WITHIN_MS = 2_000
/** Writing the metrics takes some milliseconds, and checking the dependencies takes connections. */
export const READ_EVERY_MS = 200

export const aliveAs = (release: Release) => ({ status: true as const, message: 'Alive', data: release })

/** Outside /api/v3: liveness, readiness and metrics of the process. */
export async function healthRoutes(
  app: App,
  { clock, config, dependencies, listening, release, metrics: { registry } }: Services,
): Promise<void> {
  app.get('/health', operations.getHealth, async () => aliveAs(release))

  const askDependencies = createPaced(async (): Promise<Record<string, boolean>> => {
    const asked = Object.entries(dependencies).map(async ([name, answers]) => [name, await inTime(answers())])
    return Object.fromEntries(await Promise.all(asked))
  }, READ_EVERY_MS)
  app.get('/ready', operations.getReadiness, async (_request, reply) => {
    const answered = await askDependencies()
    const listeners = listening()
    const ready = listeners && Object.values(answered).every(answers => answers)
    reply.code(ready ? 200 : 503)
    const { isRight, offsetMs } = clock
    const off = `, and its clock is off by ${Math.abs(offsetMs / 1000).toFixed(1)} s`
    return {
      status: ready,
      message: `${ready ? 'Ready' : 'Not ready'}${isRight ? '' : off}`,
      data: { ...answered, listeners, clock: isRight },
    }
  })

  // Otherwise they are on a port of their own (src/small-server.ts).
  if (config.metricsPort !== undefined) return
  const writeFigures = createPaced(() => registry.metrics(), READ_EVERY_MS)
  app.get('/metrics', operations.getMetrics, async (_request, reply) => {
    reply.type(registry.contentType)
    return writeFigures()
  })
}

/** Runs `read` once for all callers within `everyMs`. Each caller gets a result that was read after its call. */
export function createPaced<T>(read: () => Promise<T>, everyMs: number): () => Promise<T> {
  let next: Promise<T> | null = null
  let running: Promise<unknown> = Promise.resolve()
  return () => {
    next ??= running.then(() => {
      next = null
      const result = read()
      running = Promise.allSettled([result, sleep(everyMs, null, { ref: false })])
      return result
    })
    return next
  }
}

async function inTime(answers: Promise<boolean>): Promise<boolean> {
  const late = new Promise<boolean>(resolve => setTimeout(resolve, ANSWER_WITHIN_MS, false).unref())
  return Promise.race([answers.catch(() => false), late])
}
