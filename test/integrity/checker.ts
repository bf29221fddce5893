import type { Client } from '../support/client.ts'
import type { Publisher, SentPoint } from './publisher.ts'

/** The fate of the acknowledged points. The promise is that the last four numbers are 0. */
export interface Report {
  acknowledged: number
  stored: number
  lost: number
  doubled: number
  /** Stored with different content than was acknowledged. */
  altered: number
  /** Stored, but never sent. */
  invented: number
}

/**
 * Compares every acknowledged point and its content with the history. `isExcused` is asked about each one that is missing, whether
 * it counts as lost.
 */
export async function checkHistories(
  client: Client,
  publishers: readonly Publisher[],
  isExcused: (publisher: Publisher, n: number) => boolean = () => false,
): Promise<Report> {
  const report: Report = { acknowledged: 0, stored: 0, lost: 0, doubled: 0, altered: 0, invented: 0 }
  for (const publisher of publishers) {
    const points = Array.from({ length: publisher.sent }, (_, n) => publisher.pointAt(n))
    const numbers = new Map(points.map(({ timestamp }, n) => [timestamp, n]))
    const stored = new Set<number>()
    const doubled = new Set<number>()
    const altered = new Set<number>()
    for await (const found of readWhole(client, publisher.device.id)) {
      report.stored++
      const n = numbers.get(found.timestamp)
      if (n === undefined) report.invented++
      else if (stored.has(n)) doubled.add(n)
      else stored.add(n)
      if (n !== undefined && !isSame(found, points[n] as SentPoint)) altered.add(n)
    }
    for (const n of points.keys()) {
      if (publisher.waiting.has(n)) continue
      report.acknowledged++
      if (!stored.has(n)) report.lost += isExcused(publisher, n) ? 0 : 1
      else if (doubled.has(n)) report.doubled++
      else if (altered.has(n)) report.altered++
    }
  }
  return report
}

/** The whole history, page by page. */
async function* readWhole(client: Client, deviceId: string): AsyncGenerator<{ timestamp: string }> {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `/location-histories?deviceId=${deviceId}&limit=50000&includeAnomalies=true`
    const { status, body } = await client.get(cursor ? `${path}&cursor=${cursor}` : path)
    if (status !== 200) throw new Error(`Reading the history failed: ${JSON.stringify(body)}`)
    yield* body.data
    cursor = body.pagination.nextCursor
  }
}

function isSame(stored: object, sent: SentPoint): boolean {
  const found = stored as { [key: string]: unknown }
  return Object.entries(sent).every(([key, value]) => JSON.stringify(found[key]) === JSON.stringify(value))
}
