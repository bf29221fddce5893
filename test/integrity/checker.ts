import type { Client } from '../support/client.ts'
import type { Publisher } from './publisher.ts'

/** What became of the acknowledged points. The promise is that the last four are 0. */
export interface Report {
  acknowledged: number
  stored: number
  lost: number
  doubled: number
  /** Stored with other content than was acknowledged. */
  altered: number
  /** Stored though nobody sent them. */
  invented: number
}

/** Compares every acknowledged point, its content too, with the history. */
export async function checkHistories(client: Client, publishers: readonly Publisher[]): Promise<Report> {
  const report: Report = { acknowledged: 0, stored: 0, lost: 0, doubled: 0, altered: 0, invented: 0 }
  for (const { device, acknowledged, sent } of publishers) {
    const stored = new Map<string, unknown[]>()
    for (const point of await readWhole(client, device.id)) {
      report.stored++
      const twins = stored.get(point.timestamp)
      if (twins) twins.push(point)
      else stored.set(point.timestamp, [point])
      if (!sent.has(point.timestamp)) report.invented++
    }
    for (const [timestamp, point] of acknowledged) {
      report.acknowledged++
      const found = stored.get(timestamp) ?? []
      if (found.length === 0) report.lost++
      else if (found.length > 1) report.doubled++
      else if (!isSame(found[0], point)) report.altered++
    }
  }
  return report
}

/** The whole history, page by page. */
async function readWhole(client: Client, deviceId: string) {
  const points = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `/location-histories?deviceId=${deviceId}&limit=50000`
    const { status, body } = await client.get(cursor ? `${path}&cursor=${cursor}` : path)
    if (status !== 200) throw new Error(`Reading the history failed: ${JSON.stringify(body)}`)
    points.push(...body.data)
    cursor = body.pagination.nextCursor
  }
  return points
}

function isSame(stored: unknown, sent: object): boolean {
  const found = stored as Record<string, unknown>
  return Object.entries(sent).every(([key, value]) => JSON.stringify(found[key]) === JSON.stringify(value))
}
