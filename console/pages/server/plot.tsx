import { type Point, roundUp } from './figures.ts'

/** The plot's own units; it is stretched to the width of its card. */
const [WIDTH, HEIGHT] = [300, 90]

export interface Line {
  name: string
  pieces: Point[][]
}

interface Props {
  label: string
  lines: readonly Line[]
  from: number
  to: number
  /** The highest value of the scale; without it the next round number above all values. */
  most?: number | undefined
  /** A line that goes on from the last value to this one. */
  forecast?: Point | null
  write: (value: number) => string
}

/** Small lines over time. Screen readers get its label, and the table below it. */
export function Plot({ label, lines, from, to, most, forecast = null, write }: Props) {
  const points = lines.flatMap(({ pieces }) => pieces.flat())
  const top = most ?? roundUp(Math.max(0, ...points.map(({ value }) => value)))
  const x = (at: number) => Math.round(((at - from) / (to - from)) * WIDTH * 10) / 10
  const y = (value: number) => Math.round((1 - value / top) * HEIGHT * 10) / 10
  const last = lines[0]?.pieces.at(-1)?.at(-1)
  return (
    <div className="health-plot">
      <span className="plot-top">{write(top)}</span>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        <path className="plot-grid" d={`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}`} />
        {lines.map(({ name, pieces }, index) => (
          <g key={name} className={`plot-line plot-line-${index + 1}`}>
            {index === 0 && <path className="plot-area" d={pieces.map(areaOf).join('')} />}
            <path d={pieces.map(lineOf).join('')} />
          </g>
        ))}
        {forecast && last && (
          <path
            className="plot-forecast"
            d={`M${x(last.at)} ${y(last.value)}L${x(forecast.at)} ${y(forecast.value)}`}
          />
        )}
      </svg>
    </div>
  )

  function lineOf(piece: readonly Point[]): string {
    const [first] = piece
    if (!first) return ''
    // One sample alone is a point.
    const rest = piece.length > 1 ? piece.slice(1) : piece
    return `M${x(first.at)} ${y(first.value)}${rest.map(({ at, value }) => `L${x(at)} ${y(value)}`).join('')}`
  }

  function areaOf(piece: readonly Point[]): string {
    const [first, last] = [piece[0], piece.at(-1)]
    return first && last ? `${lineOf(piece)}V${HEIGHT}H${x(first.at)}Z` : ''
  }
}
