import { afterEach } from 'vitest'
import { lastOutputs } from './server.ts'

// A failure on a machine that is gone cannot be looked into any more.
afterEach(({ task }) => {
  const outputs = task.result?.state === 'fail' ? lastOutputs() : ''
  if (outputs) console.error(outputs)
})
