import { parentPort, workerData } from 'node:worker_threads'

/** Reads the own user every so often until it is told to end: in a thread of its own, which the load's client does not hold up. */
const { url, token, everyMs } = workerData
const waits = []
let refused = 0
const open = new Set()

async function ask() {
  const begun = performance.now()
  try {
    const answer = await fetch(`${url}/api/v3/user`, { headers: { authorization: `Bearer ${token}` } })
    await answer.arrayBuffer()
    waits.push(performance.now() - begun)
    if (answer.status !== 200) refused++
  } catch {
    refused++
  }
}

const timer = setInterval(() => {
  const asked = ask().finally(() => open.delete(asked))
  open.add(asked)
}, everyMs)

parentPort.once('message', async () => {
  clearInterval(timer)
  await Promise.all(open)
  parentPort.postMessage({ waits, refused })
})
