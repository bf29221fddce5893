/** One row of the table: a figure of Fieldline, its reference, and the goal. */
export interface Row {
  figure: string
  ours: string
  /** The limit or peer measured in the same run, in turn. */
  beside: string
  /** Fieldline's figure divided by the reference, or the inverse if less is better: the median of the rounds. */
  ratio?: number
  goal: string
  note?: string
}

export function toMarkdown(rows: readonly Row[]): string {
  const lines = rows.map(({ figure, ours, beside, ratio, goal, note = '' }) =>
    [figure, ours, beside, ratio === undefined ? '' : ratio.toFixed(2), goal, note].join(' | '),
  )
  return [
    '| figure | ours | beside it | ratio | goal | note |',
    '|---|---|---|---|---|---|',
    ...lines.map(line => `| ${line} |`),
  ].join('\n')
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

/** A number with thousands separators. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en')
}

export function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : count(value)} ms`
}

export const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

/** Reports to standard error what is being measured; only the table goes to standard output. */
export function progress(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
}
