/** The tests' view of a server, whether they started it or the environment named it. */

/** A service, or a sentence that says why it is unavailable and what to do about it. */
export type Service<T> =
  | ({ available: true; stop(): Promise<void> } & T)
  | { available: false; reason: string }

/** The operations of a crash test on a server. Data and port stay the same. */
export interface Control {
  /** Identifiers of the server's present processes. */
  processes(): number[]
  /** SIGKILL to every process of the server at one instant, as a crash; resolves when the last one is gone. */
  kill9(): Promise<void>
  /** An orderly end that keeps the data, as in a deployment. */
  halt(): Promise<void>
  /** Resolves when the server answers again. Throws with the end of its log if it does not. */
  start(): Promise<void>
  /** `halt` and `start`. */
  restart(): Promise<void>
  /** SIGSTOP to every process: connections stay open and nothing answers, as behind a dead network. */
  freeze(): void
  thaw(): void
}

/** The reason why this machine cannot have the service. Failures of an installed server are plain errors instead. */
export class Unavailable extends Error {}

/** Turns `Unavailable` into an answer; other errors stay errors, so that a broken server never looks absent. */
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
