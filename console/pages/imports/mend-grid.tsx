import { useVirtualizer } from '@tanstack/react-virtual'
import { type ClipboardEvent, type KeyboardEvent, useLayoutEffect, useRef, useState } from 'react'
import { useEscape } from '../../parts/focus.ts'
import { fromRem } from '../../parts/rem.ts'
import { stepTo } from '../../parts/rows.ts'
import { useFormat } from '../../texts/texts.tsx'
import { type FailedTable, type Fault, isErrorColumn } from './mending.ts'
import type { Edits } from './rewrite-workbook.ts'
import { useImportTexts } from './texts.ts'

const ROW_PX = fromRem(2)

interface Props {
  table: FailedTable
  faults: readonly Fault[][]
  edits: Edits
  /** Other texts for cells: of one that was typed into, or of several that were pasted. */
  onEdit: (changes: readonly { row: number; column: number; text: string }[]) => void
}

interface Place {
  row: number
  column: number
}

/**
 * The failed rows as a grid. Arrow keys move, Enter or a letter begins to write, Escape takes it back, Delete empties a cell,
 * and a pasted range fills the cells from here on.
 */
export function MendGrid({ table: { headings, rows }, faults, edits, onEdit }: Props) {
  const t = useImportTexts()
  const format = useFormat()
  const box = useRef<HTMLDivElement>(null)
  const columns = headings.flatMap((heading, column) => (isErrorColumn(heading) ? [] : column))
  const count = Math.min(rows.length, faults.length)
  const [place, setPlace] = useState<Place>(() => firstFault(faults, columns))
  const [typed, setTyped] = useState<string | null>(null)
  const moves = useRef(false)
  const list = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  })
  const textOf = ({ row, column }: Place) => edits.get(row)?.get(column) ?? rows[row]?.[column] ?? ''
  const faultAt = ({ row, column }: Place) => faults[row]?.find(one => one.column === column)?.message
  const items = list.getVirtualItems()

  useLayoutEffect(() => {
    if (!moves.current) return
    const cell = box.current?.querySelector<HTMLElement>(`[data-at="${place.row}/${place.column}"]`)
    if (!cell) return
    cell.focus()
    moves.current = false
  })
  const go = (next: Place) => {
    moves.current = true
    setTyped(null)
    setPlace(next)
    list.scrollToIndex(next.row)
  }
  const sideways = (by: number) => {
    const at = columns.indexOf(place.column) + by
    const column = columns[at]
    return column === undefined ? place : { ...place, column }
  }
  const commit = (next: Place) => {
    if (typed !== null && typed !== textOf(place)) onEdit([{ ...place, text: typed }])
    go(next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, ctrlKey, metaKey, altKey } = event
    const isWriting = typed !== null
    const below = { ...place, row: Math.min(count - 1, place.row + 1) }
    const next = ((): Place | undefined => {
      if (key === 'Enter' && isWriting) return below
      if (key === 'Tab' && isWriting) return sideways(event.shiftKey ? -1 : 1)
      if (isWriting) return undefined
      if (key === 'ArrowRight') return sideways(1)
      if (key === 'ArrowLeft') return sideways(-1)
      const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / ROW_PX) - 1)
      const row = stepTo(key, place.row, { count, page })
      return row === undefined ? undefined : { ...place, row }
    })()
    if (next) {
      event.preventDefault()
      return commit(next)
    }
    if (isWriting) return
    if (key === 'Enter' || key === 'F2') {
      event.preventDefault()
      setTyped(textOf(place))
    } else if (key === 'Delete' || key === 'Backspace') {
      event.preventDefault()
      onEdit([{ ...place, text: '' }])
    } else if (key.length === 1 && !ctrlKey && !metaKey && !altKey) {
      event.preventDefault()
      setTyped(key)
    }
  }
  const onPaste = (event: ClipboardEvent) => {
    if (typed !== null) return
    event.preventDefault()
    const lines = event.clipboardData
      .getData('text/plain')
      .replace(/\r?\n$/, '')
      .split(/\r?\n/)
    const from = columns.indexOf(place.column)
    onEdit(
      lines.flatMap((line, down) =>
        line.split('\t').flatMap((text, right) => {
          const [row, column] = [place.row + down, columns[from + right]]
          return column === undefined || row >= count ? [] : { row, column, text }
        }),
      ),
    )
  }
  const before = items[0]?.start ?? 0
  const after = list.getTotalSize() - (items.at(-1)?.end ?? 0)
  const number = faults[place.row]?.[0]?.row ?? place.row + 1
  const message = faultAt(place) ?? faults[place.row]?.find(({ column }) => column === null)?.message
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys are the grid's, whichever of its cells has the focus */}
      <div className="mend-grid" ref={box} onKeyDown={onKeyDown} onPaste={onPaste}>
        {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its cells are written into */}
        <table role="grid" aria-label={t.mendGrid} aria-rowcount={count + 1} aria-describedby="mend-keys">
          <thead>
            <tr aria-rowindex={1}>
              {columns.map(column => (
                <th key={column} scope="col">
                  {headings[column]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {before > 0 && <tr className="space" style={{ height: before }} />}
            {items.map(({ index: row }) => (
              <tr key={row} aria-rowindex={row + 2} className={edits.has(row) ? 'mended' : ''}>
                {columns.map(column => {
                  const at = { row, column }
                  const isHere = row === place.row && column === place.column
                  const why = faultAt(at)
                  const isMended = edits.get(row)?.has(column) ?? false
                  return (
                    <td
                      key={column}
                      data-at={`${row}/${column}`}
                      tabIndex={isHere ? 0 : -1}
                      title={why}
                      aria-invalid={why !== undefined && !isMended}
                      className={isMended ? 'changed' : why ? 'faulty' : ''}
                      onFocus={({ target, currentTarget }) => {
                        if (target === currentTarget && !isHere) setPlace(at)
                      }}
                      onDoubleClick={() => setTyped(textOf(at))}
                    >
                      {isHere && typed !== null ? (
                        <CellInput
                          label={headings[column] ?? ''}
                          value={typed}
                          onChange={setTyped}
                          onEscape={() => go(place)}
                          onLeave={() => {
                            if (moves.current) return
                            if (typed !== textOf(place)) onEdit([{ ...place, text: typed }])
                            setTyped(null)
                          }}
                        />
                      ) : (
                        textOf(at) || (why ? '–' : '')
                      )}
                    </td>
                  )
                })}
              </tr>
            ))}
            {after > 0 && <tr className="space" style={{ height: after }} />}
          </tbody>
        </table>
      </div>
      <p className="mend-message" role="status">
        {message && (
          <>
            {t.rowNumber(format.count(number))} <span lang="en">{message}</span>
          </>
        )}
      </p>
      <p className="hint" id="mend-keys">
        {t.mendKeys}
      </p>
    </>
  )
}

/** Escape takes the writing back, and does not close the dialog. */
function CellInput(props: {
  label: string
  value: string
  onChange: (text: string) => void
  onEscape: () => void
  onLeave: () => void
}) {
  useEscape(props.onEscape)
  return (
    <input
      // biome-ignore lint/a11y/noAutofocus: somebody has just begun to write into this cell
      autoFocus
      aria-label={props.label}
      value={props.value}
      onChange={({ target }) => props.onChange(target.value)}
      onBlur={props.onLeave}
    />
  )
}

function firstFault(faults: readonly Fault[][], columns: readonly number[]): Place {
  const row = faults.findIndex(of => of.some(({ column }) => column !== null))
  const column = faults[row]?.find(({ column }) => column !== null)?.column
  return { row: Math.max(0, row), column: column ?? columns[0] ?? 0 }
}
