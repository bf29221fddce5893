import type { App } from '../../services.ts'

/**
 * Of every answer: no browser keeps what somebody else at it could read later, and none sees more in it than its type says.
 * What is the same for everybody says itself how long it may be kept.
 */
export const ANSWER_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

export function addAnswerHeaders(app: App): void {
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(ANSWER_HEADERS)
  })
}
