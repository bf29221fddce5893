/** The metrics of /metrics, by name and labels as they are written there: `fieldline_stored_total{kind="point"}`. */
export async function readFigures({ url }: { url: string }): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const lines = [...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)]
  return new Map(lines.map(([, name, value]) => [name as string, Number(value)]))
}

/** Whether the writers have committed everything in Kafka, according to any process that uses it. */
export async function isStored(server: { url: string }): Promise<boolean> {
  const figures = await readFigures(server)
  const lags = [...figures].filter(([name]) => name.startsWith('fieldline_log_lag_records{'))
  return (
    figures.get('fieldline_log_up') === 1 && lags.length > 0 && lags.every(([, records]) => records === 0)
  )
}

/**
 * How many times the session of the embedded database was held in a lane, and how many of them for no more of the
 * processor than the bound, by the figures' buckets: the widest that the bound contains, or the one of the bound itself.
 * The bound is for the usual machine; see `slowness()`.
 */
export function countHolds(
  figures: ReadonlyMap<string, number>,
  lane: string,
  boundS: number,
  slowness: number,
): { all: number; short: number } {
  const name = 'fieldline_database_hold_processor_seconds'
  const counts = [...figures].filter(
    ([figure]) => figure.startsWith(`${name}_bucket{`) && figure.includes(`lane="${lane}"`),
  )
  // Buckets are cumulative.
  const within = counts.filter(([figure]) => Number(/le="([\d.]+)"/.exec(figure)?.[1]) <= boundS * slowness)
  return {
    all: figures.get(`${name}_count{lane="${lane}"}`) ?? 0,
    short: Math.max(0, ...within.map(([, count]) => count)),
  }
}
