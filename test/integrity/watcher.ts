import type { Client } from '../support/client.ts'
import { openScreen, type TestScreen } from '../support/screen.ts'
import { pause } from '../support/wait.ts'

/** A dispatcher's screen: when its connection is lost, it reconnects with its cursor. */
export interface Watcher {
  screen: TestScreen
  /** The number of times that it reconnected. */
  resumed: number
  /** The number of times that a subject was shown at an earlier time than before. */
  backwards: number
  /** Snapshots after the first one. There are none as long as its cursors are valid. */
  snapshots: number
  stop(): Promise<void>
}

export async function startWatcher(url: () => string, client: Client): Promise<Watcher> {
  let stopped = false
  const watcher: Watcher = {
    screen: await openScreen({ url: url() }, client.token),
    resumed: 0,
    backwards: 0,
    snapshots: 0,
    async stop() {
      stopped = true
      watcher.screen.cut()
      await keeping
    },
  }
  const keeping = (async () => {
    while (!stopped) {
      await watcher.screen.closed
      watcher.backwards += watcher.screen.backwards
      while (!stopped) {
        try {
          watcher.screen = await openScreen({ url: url() }, client.token, { resume: watcher.screen })
          watcher.resumed++
          watcher.snapshots += watcher.screen.snapshots
          break
        } catch {
          await pause(100)
        }
      }
    }
  })()
  return watcher
}
