import type { App } from '../../services.ts'
import { closeWithFailure, isAnswering } from './raw-errors.ts'

/** The time in which a whole body must arrive (contract section 2). */
const BODY_WITHIN_MS = 30_000
/** Enough for a file of 256 MiB over a line of 2.4 Mbit/s. */
export const UPLOAD_WITHIN_MS = 15 * 60_000

/**
 * Ends requests whose body does not arrive in time, with an answer that says so. Node has only one timeout for all
 * requests.
 */
export function addArrivalTime(app: App): void {
  app.addHook('onRequest', async ({ raw, routeOptions }) => {
    if (raw.complete || routeOptions.config.upload) return
    const timer = setTimeout(() => {
      if (raw.complete || raw.destroyed) return
      if (isAnswering(raw.socket)) raw.socket.destroy()
      else closeWithFailure(raw.socket, 'not-in-time', 'The request did not arrive in time: send it again.')
    }, BODY_WITHIN_MS)
    for (const event of ['end', 'close', 'error']) raw.once(event, () => clearTimeout(timer))
  })
}
