// Loaded into a server by NODE_OPTIONS (test/support/held-loop.ts): measures the processor time of its thread between
// two turns of the event loop. SIGWINCH starts the measurement, and the next one ends it and writes the longest time,
// in milliseconds. Unlike the delay of the event loop, it excludes other work of the machine. A timer of 1 ms fires in
// each turn that takes longer; requesting every turn would keep the loop turning, and a core busy.
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
