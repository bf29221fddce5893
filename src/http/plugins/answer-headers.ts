import type { App } from '../../services.ts'

/**
 * For every answer: no browser stores what another person at it could read later, and none guesses another content
 * type. Answers that are the same for everybody set their own `cache-control`.
 */
export const ANSWER_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

export function addAnswerHeaders(app: App): void {
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(ANSWER_HEADERS)
  })
}
