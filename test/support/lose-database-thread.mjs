// Loaded into a server under test: SIGWINCH ends the thread of its embedded database, as a crash would. Other signals
// stop the server in order.

import { syncBuiltinESMExports } from 'node:module'
import workers, { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  const { Worker } = workers
  workers.Worker = class extends Worker {
    constructor(...given) {
      super(...given)
      if (String(given[0]).includes('pglite-worker')) process.on('SIGWINCH', () => this.terminate())
    }
  }
  syncBuiltinESMExports()
}
