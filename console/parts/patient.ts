const AGAIN_AFTER_MS = 2_000

/** Loads a part of the page. While the server is away it waits for it: the page stays, with what is typed there. */
export const patient =
  <T>(load: () => Promise<T>) =>
  async (): Promise<T> => {
    try {
      return await load()
    } catch {
      await reachServer()
      return load()
    }
  }

async function reachServer(): Promise<void> {
  for (;;) {
    try {
      await fetch('/health')
      return
    } catch {
      await new Promise(resolve => setTimeout(resolve, AGAIN_AFTER_MS))
    }
  }
}
