import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useRef } from 'react'
import { IconButton } from '../../parts/parts.tsx'
import { fromRem } from '../../parts/rem.ts'
import { usePasteTexts } from './paste-texts.ts'
import type { ColumnName, PastedRow } from './pasted-table.ts'

const ROW_PX = fromRem(2.25)
/** A row with errors has two lines for them. */
const WRONG_PX = fromRem(5)
/** The columns whose text is the longest. */
const WIDE: readonly ColumnName[] = ['name', 'start', 'until']
const WIDE_REM = 11
const USUAL_REM = 7.5
const END_REM = 2.25

/** Sentences about the cells of a row. */
export type CellErrors = Partial<Record<ColumnName, string>>

interface Props {
  rows: readonly PastedRow[]
  columns: readonly ColumnName[]
  errorsOf: (row: PastedRow) => CellErrors
  onChange: (id: number, column: ColumnName, text: string) => void
  onRemove: (id: number) => void
}

/** The pasted rows as fields, the wrong ones marked. Only the visible rows are drawn. */
export function PasteGrid({ rows, columns, errorsOf, onChange, onRemove }: Props) {
  const t = usePasteTexts()
  const box = useRef<HTMLDivElement>(null)
  const errors = rows.map(errorsOf)
  const isWrong = (index: number) => Object.keys(errors[index] ?? {}).length > 0
  const drawn = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: index => (isWrong(index) ? WRONG_PX : ROW_PX),
    overscan: 4,
    getItemKey: index => rows[index]?.id ?? index,
  })
  // A row that becomes wrong, or right, has another height.
  const heights = errors.map((_, index) => (isWrong(index) ? '1' : '0')).join('')
  const measured = useRef(heights)
  if (measured.current !== heights) {
    measured.current = heights
    drawn.measure()
  }
  /** Arrow up and down go to the same column of the next row. */
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const cell = event.target as HTMLElement
    if (step === undefined || cell.dataset.at === undefined) return
    event.preventDefault()
    const next = Number(cell.dataset.at) + step
    if (next < 0 || next >= rows.length) return
    drawn.scrollToIndex(next)
    requestAnimationFrame(() =>
      box.current
        ?.querySelector<HTMLElement>(`[data-at="${next}"][data-column="${cell.dataset.column}"]`)
        ?.focus(),
    )
  }
  const widths = columns.map(column => (WIDE.includes(column) ? WIDE_REM : USUAL_REM))
  const template = {
    gridTemplateColumns: [...widths.map(rem => `minmax(${rem}rem, ${rem}fr)`), `${END_REM}rem`].join(' '),
    minWidth: `${widths.reduce((sum, rem) => sum + rem, END_REM)}rem`,
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys belong to its fields
    <div className="paste-grid" ref={box} onKeyDown={onKeyDown}>
      <div className="paste-head" style={template} aria-hidden="true">
        {columns.map(column => (
          <span key={column}>{t.columns[column]}</span>
        ))}
      </div>
      <ul style={{ height: drawn.getTotalSize(), minWidth: template.minWidth }}>
        {drawn.getVirtualItems().map(item => {
          const row = rows[item.index] as PastedRow
          const wrong = errors[item.index] ?? {}
          const said = columns.filter(column => wrong[column] !== undefined)
          return (
            <li
              key={item.key}
              aria-setsize={rows.length}
              aria-posinset={item.index + 1}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <div className="paste-row" style={template}>
                {columns.map(column => (
                  <input
                    key={column}
                    aria-label={t.cell(t.columns[column], item.index + 1)}
                    aria-invalid={wrong[column] !== undefined}
                    {...(wrong[column] !== undefined && { 'aria-describedby': `wrong-${row.id}` })}
                    data-at={item.index}
                    data-column={column}
                    value={row.cells[column] ?? ''}
                    onChange={event => onChange(row.id, column, event.currentTarget.value)}
                  />
                ))}
                <IconButton icon="close" label={t.remove(item.index + 1)} onPress={() => onRemove(row.id)} />
              </div>
              {said.length > 0 && (
                <p className="paste-why" id={`wrong-${row.id}`}>
                  {said.map(column => `${t.columns[column]}: ${wrong[column]}`).join(' ')}
                </p>
              )}
            </li>
          )
        })}
      </ul>
    </div>
  )
}
