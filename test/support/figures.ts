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
