/** What the tests know of a server they talk to, whether they started it or the environment named it. */

/** A service, or one sentence that says why there is none and what to do about it. */
export type Service<T> =
  | ({ available: true; stop(): Promise<void> } & T)
  | { available: false; reason: string }

/** What a crash test does to a server. Data and port stay the same through all of it. */
export interface Control {
  /** Identifiers of the server's processes, as they are now. */
  processes(): number[]
  /** SIGKILL to every process of the server at one instant, as a crash; resolves when the last one is gone. */
  kill9(): Promise<void>
  /** An orderly end that keeps the data: what a deployment does. */
  halt(): Promise<void>
  /** Resolves when the server answers again. Throws with the end of its log if it does not. */
  start(): Promise<void>
  /** `halt` and `start`. */
  restart(): Promise<void>
  /** SIGSTOP to every process: connections stay open and nothing answers, as behind a dead network. */
  freeze(): void
  thaw(): void
}

/** Why this machine cannot have the service. Failures of a server that is installed are plain errors instead. */
export class Unavailable extends Error {}

/** Turns `Unavailable` into an answer; everything else stays an error, so a broken server never looks absent. */
export async function available<T extends { stop(): Promise<void> }>(
  start: () => Promise<T>,
): Promise<Service<T>> {
  try {
    return { available: true, ...(await start()) }
  } catch (error) {
    if (error instanceof Unavailable) return { available: false, reason: error.message }
    throw error
  }
}
