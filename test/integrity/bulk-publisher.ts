import { Fieldline } from '#client'
import { type Client, createDevice } from '../support/client.ts'
import { type Publisher, pointOf } from './publisher.ts'

const FILL_EVERY_MS = 50
/** Points that may wait for an acknowledgement. */
const MAX_WAITING = 500
const BATCH = 100

/** A publisher that sends over HTTP, by the client that programs use, instead of over MQTT. */
export async function startBulkPublisher(
  owner: Client,
  url: string,
  { seed, rate }: { seed: number; rate: number },
): Promise<Publisher> {
  const device = await createDevice(owner, `Publisher ${seed} in bulk`)
  // Each attempt is short, so that one that a killed server never answers does not hold up the others.
  const client = new Fieldline({ baseUrl: url, token: device.key, answerWithinMs: 5_000, retryForMs: 5_000 })
  const bulk = client.bulk({ batch: BATCH })
  const begun = Date.now() - 24 * 3_600_000
  const pointAt = (n: number) => pointOf(seed, begun, n)
  let allowed = 0
  let perSecond = rate
  let last = performance.now()
  const filling = setInterval(() => {
    const now = performance.now()
    allowed = Math.min(allowed + ((now - last) * perSecond) / 1000, perSecond)
    last = now
    for (; allowed >= 1 && bulk.waiting.length < MAX_WAITING; allowed--)
      bulk.add({ ...pointAt(publisher.sent++) })
  }, FILL_EVERY_MS)
  const publisher: Publisher = {
    device,
    sent: 0,
    connections: 0,
    pointAt,
    get waiting() {
      return new Set(bulk.waiting.map(({ attributes }) => (attributes as { n: number }).n))
    },
    /** Points are acknowledged in the order in which they were made. */
    get newest() {
      const acknowledged = publisher.sent - bulk.waiting.length
      return acknowledged > 0 ? pointAt(acknowledged - 1).timestamp : ''
    },
    pace(next) {
      perSecond = next
    },
    async finish() {
      clearInterval(filling)
      await bulk.flush()
    },
  }
  return publisher
}
