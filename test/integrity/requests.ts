import { Webhook } from 'standardwebhooks'
import { type Client, createClient } from '../support/client.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { pause } from '../support/wait.ts'

/** The fate of the requests and webhooks. Everything but the first of each is promised to be empty or 0. */
export interface RequestReport {
  answered: number
  /** Requests that were not answered, or with a status that their caller did not cause. */
  failed: string[]
  created: number
  delivered: number
  /** Webhooks that were never delivered, or whose signature is wrong. */
  missing: number
  forged: number
}

/** Callers of the interface at an even rate: lists, changes, and records whose creation a webhook tells. */
export interface Requests {
  /** Sends the first request of all again with its Idempotency-Key. Returns whether the answer is the first one. */
  repeatFirst(): Promise<boolean>
  finish(): Promise<RequestReport>
}

const READS = [
  '/user',
  '/hubs?limit=20',
  '/devices?limit=20',
  '/vehicles?limit=20',
  '/tasks?limit=20',
  '/teams?limit=20',
]
const NAMED = 'named by the caller'
/** A request that gets no answer for so long counts as failed. On a busy machine some take many seconds. */
const ANSWER_WITHIN_MS = 60_000
/** A caller that waits for its answers is not told to: a server with less than a core cannot answer as many as are asked. */
const MAX_UNDER_WAY = 6
const DELIVERED_WITHIN_MS = 60_000

/** `url` is asked before each request: the processes that may be called change. While it is null, callers wait. */
export async function startRequests(
  owner: Client,
  url: () => string | null,
  perSecond: number,
): Promise<Requests> {
  async function client(): Promise<Client> {
    let current = url()
    for (; current === null; current = url()) await pause(50)
    return createClient({ url: current }, owner.token)
  }
  const receiver = await startReceiver()
  const fields = [{ key: 'name', label: 'Name', type: 'text' }]
  const typeId = (await owner.post('/data-type', { name: 'Visit', fields })).body.data._id
  const hook = await owner.post('/webhook', { url: `${receiver.url}/hook`, events: ['data-source-created'] })
  const { secret } = hook.body.data
  const hub = (await owner.post('/hub', { name: 'Hub', lat: 1, lng: 2 })).body.data._id
  const report = { answered: 0, failed: [] as string[], created: 0 }
  const begun = performance.now()
  const seconds = () => ((performance.now() - begun) / 1_000).toFixed(1)

  const create = async (key: string) =>
    (await client()).post('/data', { dataTypeId: typeId, data: { name: key } }, { 'idempotency-key': key })
  const first = await create(NAMED)
  if (first.status !== 201) throw new Error(`Creating a record failed: ${JSON.stringify(first.body)}`)
  report.created++

  async function send(n: number): Promise<void> {
    const [doing, work, expected] = choose(n)
    const sentAt = seconds()
    const late = pause(ANSWER_WITHIN_MS).then(() => ({ status: 0, body: 'no answer in time' }))
    const answer = await Promise.race([work(), late]).catch(error => ({ status: 0, body: String(error) }))
    if (answer.status === expected) report.answered++
    else
      report.failed.push(
        `${sentAt} s, ${doing}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`,
      )
    if (expected === 201 && answer.status === 201) report.created++
  }
  function choose(
    n: number,
  ): [doing: string, work: () => Promise<{ status: number; body: unknown }>, expected: number] {
    const read = READS[n % READS.length] as string
    if (n % 5 === 0) return ['POST /data', () => create(`record ${n}`), 201]
    if (n % 5 === 1)
      return ['PATCH /hub', async () => (await client()).patch(`/hub/${hub}`, { name: `Hub ${n}` }), 200]
    if (n % 5 === 2)
      return ['GET history', async () => (await client()).get('/location-histories?limit=20'), 200]
    return [`GET ${read}`, async () => (await client()).get(read), 200]
  }

  let stopped = false
  const underWay = new Set<Promise<void>>()
  const sending = (async () => {
    for (let n = 0; !stopped; n++) {
      while (underWay.size >= MAX_UNDER_WAY) await Promise.race(underWay)
      const sent = send(n).finally(() => underWay.delete(sent))
      underWay.add(sent)
      await pause(1_000 / perSecond)
    }
  })()

  return {
    async repeatFirst() {
      const again = await create(NAMED)
      return again.status === 201 && again.body.data._id === first.body.data._id
    },
    async finish() {
      stopped = true
      await sending
      await Promise.all(underWay)
      const delivered = await waitForDeliveries(receiver, report.created)
      await receiver.close()
      return {
        ...report,
        delivered,
        missing: Math.max(0, report.created - delivered),
        forged: countForged(receiver, secret),
      }
    },
  }
}

/** The number of different events that came, once all are there or nothing more is expected. */
async function waitForDeliveries(receiver: Receiver, expected: number): Promise<number> {
  const count = () => new Set(receiver.at('/hook').map(({ headers }) => headers['webhook-id'])).size
  for (const until = Date.now() + DELIVERED_WITHIN_MS; count() < expected && Date.now() < until; )
    await pause(100)
  return count()
}

function countForged(receiver: Receiver, secret: string): number {
  const webhook = new Webhook(secret)
  return receiver.at('/hook').filter(({ body, headers }) => {
    try {
      webhook.verify(body, headers as Record<string, string>)
      return false
    } catch (error) {
      // The library rejects what was signed over five minutes ago; then the rest of it is right.
      return !String(error).includes('too old')
    }
  }).length
}
