// Loaded into a server by NODE_OPTIONS (test/support/held-loop.ts): measures the processor time that its thread takes between
// two turns of the event loop. SIGWINCH begins, and the next one ends and writes the longest, in milliseconds. Other work of the
// machine does not count, unlike in a delay of the event loop. A timer of 1 ms fires in each turn that takes longer; to ask for
// every turn would keep the loop turning, and a core busy.
import { writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { processorMs } from '../../dist/db/processor-time.js'

let [measuring, before, longest] = [false, 0, 0]

function turn() {
  const now = processorMs()
  longest = Math.max(longest, now - before)
  before = now
  if (measuring) setTimeout(turn, 1)
  else writeFileSync(process.env.HELD_LOOP_FILE, `${longest}\n`)
}

if (isMainThread) process.on('SIGWINCH', begin)

function begin() {
  measuring = !measuring
  if (!measuring) return
  ;[before, longest] = [processorMs(), 0]
  writeFileSync(process.env.HELD_LOOP_FILE, 'measuring\n')
  setTimeout(turn, 1)
}
