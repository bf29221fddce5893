import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react'
import { useTexts } from '../texts/texts.tsx'
import { Trouble } from './parts.tsx'

const ROW_PX = 40

export interface Column<T> {
  id: string
  title: string
  cell: (record: T) => ReactNode
  /** Left out where there is little room. */
  minor?: boolean
}

interface Props<T> {
  label: string
  columns: Column<T>[]
  list: UseInfiniteQueryResult<InfiniteData<{ data: T[] }>>
  empty: string
  emptyHint: ReactNode
  onOpen?: (record: T) => void
}

/** A list of the interface, page by page as it is scrolled; arrow keys go from row to row, Enter opens. */
export function Table<T extends { _id: string }>({
  label,
  columns,
  list,
  empty,
  emptyHint,
  onOpen,
}: Props<T>) {
  const texts = useTexts()
  const box = useRef<HTMLDivElement>(null)
  const records = list.data?.pages.flatMap(page => page.data) ?? []
  const rows = useVirtualizer({
    count: records.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  })
  const items = rows.getVirtualItems()
  const last = items.at(-1)?.index ?? -1
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && last >= records.length - 1) void fetchNextPage()
  }, [last, records.length, hasNextPage, isFetchingNextPage, fetchNextPage])

  if (list.error && records.length === 0)
    return <Trouble error={list.error} onRetry={() => void list.refetch()} />
  if (list.isPending) return <p className="hint">{texts.loading}</p>
  if (records.length === 0) {
    return (
      <div className="empty">
        <p>{empty}</p>
        <div className="hint">{emptyHint}</div>
      </div>
    )
  }
  const onKeyDown = (event: KeyboardEvent<HTMLTableRowElement>, record: T) => {
    if (event.target !== event.currentTarget) return
    if (event.key === 'Enter') onOpen?.(record)
    const row = event.currentTarget
    const next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key]
    if (!(next instanceof HTMLElement) || next.className === 'space') return
    event.preventDefault()
    next.focus()
  }
  const before = items[0]?.start ?? 0
  const after = rows.getTotalSize() - (items.at(-1)?.end ?? 0)
  return (
    <div className="table-box" ref={box}>
      <table aria-label={label} aria-rowcount={records.length}>
        <thead>
          <tr>
            {columns.map(column => (
              <th key={column.id} scope="col" className={column.minor ? 'minor' : undefined}>
                {column.title || <span className="unseen">{texts.nav.more}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <tr className="space" style={{ height: before }} />}
          {items.map(item => {
            const record = records[item.index] as T
            return (
              <tr
                key={record._id}
                tabIndex={0}
                aria-rowindex={item.index + 1}
                className={onOpen ? 'opens' : undefined}
                onClick={() => onOpen?.(record)}
                onKeyDown={event => onKeyDown(event, record)}
              >
                {columns.map(column => (
                  <td key={column.id} className={column.minor ? 'minor' : undefined}>
                    {column.cell(record)}
                  </td>
                ))}
              </tr>
            )
          })}
          {after > 0 && <tr className="space" style={{ height: after }} />}
        </tbody>
      </table>
    </div>
  )
}
