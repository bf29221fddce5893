import '../styles/table.css'
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { useFormat, useTexts } from '../texts/texts.tsx'
import { Icon } from './icon.tsx'
import { Trouble } from './parts.tsx'
import { fromRem } from './rem.ts'
import { stepTo } from './rows.ts'
import { ChooseAll, ChooseCell, type Selection, useRowSelection } from './selection.tsx'
import type { Page } from './use-list.ts'

const ROW_PX = fromRem(2.5)
/** A printed page does not scroll: it has all loaded rows. */
const paper = window.matchMedia('print')
const onPrint = (then: () => void) => {
  paper.addEventListener('change', then)
  return () => paper.removeEventListener('change', then)
}

export interface Column<T> {
  id: string
  title: string
  cell: (record: T) => ReactNode
  /** Hidden where there is little room. */
  minor?: boolean
  /** The API's name of the sort order, if it sorts by this column. */
  sort?: string
  /** Whether long values wrap instead of being cut off. */
  whole?: boolean
}

interface Props<T> {
  label: string
  columns: Column<T>[]
  list: UseInfiniteQueryResult<InfiniteData<Page<T>>>
  empty: string
  emptyHint: ReactNode
  onOpen?: (record: T) => void
  /** The record that is open in a dialog. Its row gets the focus when the dialog closes. */
  opened?: string
  /** The sort order; a minus means descending. */
  order?: string
  onOrder?: (order: string) => void
  /** Where several rows can be chosen: by their boxes, by space, and by Shift with a click or an arrow key. */
  selection?: Selection<T> | undefined
}

/** A list of the API that loads pages while it scrolls. Arrow keys move between rows, Enter opens one. */
export function Table<T extends { _id: string }>({
  label,
  columns,
  list,
  empty,
  emptyHint,
  onOpen,
  opened,
  order,
  onOrder,
  selection,
}: Props<T>) {
  const texts = useTexts()
  const format = useFormat()
  const box = useRef<HTMLDivElement>(null)
  const isPrinted = useSyncExternalStore(onPrint, () => paper.matches)
  const records = list.data?.pages.flatMap(page => page.data) ?? []
  const choice = useRowSelection(selection, records)
  const rows = useVirtualizer({
    count: records.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: isPrinted ? records.length : 10,
  })
  const isMeasured = columns.some(({ whole }) => whole)
  const items = rows.getVirtualItems()
  const last = items.at(-1)?.index ?? -1
  const { hasNextPage, isFetching, isError, fetchNextPage } = list
  const total = list.data?.pages[0]?.pagination.total ?? (hasNextPage ? undefined : records.length)
  /** Whether the End key waits for pages that are not loaded yet. */
  const [toEnd, setToEnd] = useState(false)
  useEffect(() => {
    // After an error the query retries by itself, not earlier.
    if (hasNextPage && !isFetching && !isError && last >= records.length - 1) void fetchNextPage()
  }, [last, records.length, hasNextPage, isFetching, isError, fetchNextPage])

  /** The index of the focused row. When that row is not rendered, the box holds the focus for it. */
  const at = useRef<number | null>(null)
  /** Tab stops at one row, as in every grid: at the last focused one while it is rendered. */
  const [stop, setStop] = useState(0)
  const stopAt = items.some(({ index }) => index === stop) ? stop : (rows.range?.startIndex ?? 0)
  const goes = useRef(false)
  const focusRow = () => {
    const row = box.current?.querySelector<HTMLElement>(`[data-index="${at.current}"]`)
    row?.focus()
    if (row) goes.current = false
  }
  const goTo = (index: number) => {
    at.current = index
    goes.current = true
    focusRow()
    if (goes.current) rows.scrollToIndex(index)
  }
  useLayoutEffect(() => {
    if (goes.current) focusRow()
    if (at.current === null || document.activeElement !== document.body) return
    // After a row is deleted, the next one takes its index, unless it was the last.
    at.current = Math.min(at.current, records.length - 1)
    focusRow()
    if (document.activeElement === document.body) box.current?.focus()
  })
  useEffect(() => {
    if (!toEnd) return
    const { activeElement } = document
    const isElsewhere = activeElement !== document.body && !box.current?.contains(activeElement)
    if (!isElsewhere && at.current !== records.length - 1) goTo(records.length - 1)
    if (isElsewhere || !hasNextPage || isError) setToEnd(false)
  })
  const openedAt = useRef(-1)
  // Runs after everything else that moves the focus when a dialog closes.
  useEffect(() => {
    if (opened) {
      const index = records.findIndex(({ _id }) => _id === opened)
      if (index >= 0) openedAt.current = index
      return
    }
    const index = Math.min(openedAt.current, records.length - 1)
    openedAt.current = -1
    const { activeElement } = document
    const isNowhere = activeElement === document.body || box.current?.contains(activeElement)
    // A button inside the row that opened the dialog already has the focus again.
    if (index >= 0 && isNowhere && !(activeElement instanceof HTMLButtonElement)) goTo(index)
  })

  if (list.error && records.length === 0)
    return <Trouble error={list.error} onRetry={() => void list.refetch()} />
  if (list.isPending) return <p className="hint">{texts.loading}</p>
  if (records.length === 0) {
    return (
      <div className="empty">
        <p>{empty}</p>
        {emptyHint && <div className="hint">{emptyHint}</div>}
      </div>
    )
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (toEnd) setToEnd(event.key === 'End')
    const index = at.current
    const isRow = event.target instanceof HTMLTableRowElement
    if (index === null || (!isRow && event.target !== box.current)) return
    if (event.key === 'Enter' && isRow) onOpen?.(records[index] as T)
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / ROW_PX) - 1)
    const next = stepTo(event.key, index, { count: records.length, page })
    if (isRow && choice?.onKey(event, index, next)) return
    if (next === undefined) return
    event.preventDefault()
    if (event.key === 'End') setToEnd(hasNextPage)
    goTo(next)
  }
  const before = items[0]?.start ?? 0
  const after = rows.getTotalSize() - (items.at(-1)?.end ?? 0)
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys are the table's, whichever of its rows has the focus */}
      <div
        className="table-box"
        ref={box}
        tabIndex={-1}
        onKeyDown={onKeyDown}
        onWheel={() => setToEnd(false)}
        onPointerDown={() => setToEnd(false)}
        onBlur={({ relatedTarget }) => {
          // A row that is no longer rendered fires no event.
          if (box.current?.contains(relatedTarget)) return
          at.current = null
          if (relatedTarget) setToEnd(false)
        }}
      >
        <table
          style={{ '--columns': columns.length } as CSSProperties}
          aria-label={label}
          aria-rowcount={total === undefined ? -1 : total + 1}
        >
          <thead>
            <tr aria-rowindex={1}>
              {choice && (
                <ChooseAll
                  isAll={choice.isAll}
                  isSome={choice.chosen.size > 0}
                  label={choice.labelOfAll}
                  onChange={choice.toggleAll}
                />
              )}
              {columns.map(column => (
                <Heading key={column.id} column={column} order={order} onOrder={onOrder} />
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
                  ref={isMeasured ? rows.measureElement : undefined}
                  tabIndex={item.index === stopAt ? 0 : -1}
                  aria-rowindex={item.index + 2}
                  data-index={item.index}
                  className={`${onOpen ? 'opens' : ''} ${choice?.chosen.has(record._id) ? 'is-chosen' : ''}`}
                  // The link in the row navigates by itself, or into another tab.
                  onClick={({ target }) => (target as Element).closest('a, .pick') ?? onOpen?.(record)}
                  onFocus={() => {
                    at.current = item.index
                    setStop(item.index)
                  }}
                >
                  {choice && <ChooseCell selection={choice} record={record} index={item.index} />}
                  {columns.map(column => (
                    <td
                      key={column.id}
                      className={`${column.minor ? 'minor' : ''} ${column.whole ? 'whole' : ''}`}
                    >
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
      <p className="hint table-count" role="status">
        {toEnd && total !== undefined
          ? texts.records.countLoaded(format.count(records.length), format.count(total))
          : total !== undefined && texts.records.count(total, format.count(total))}
      </p>
    </>
  )
}

interface HeadingProps {
  column: Pick<Column<never>, 'title' | 'minor' | 'sort'>
  order: string | undefined
  onOrder: ((order: string) => void) | undefined
}

function Heading({ column: { title, minor, sort }, order = '', onOrder }: HeadingProps) {
  const { nav } = useTexts()
  const className = minor ? 'minor' : undefined
  if (!sort || !onOrder) {
    return (
      <th scope="col" className={className}>
        {title || <span className="unseen">{nav.more}</span>}
      </th>
    )
  }
  const isDescending = order === `-${sort}`
  const isOrder = isDescending || order === sort
  return (
    <th
      scope="col"
      className={className}
      aria-sort={isOrder ? (isDescending ? 'descending' : 'ascending') : 'none'}
    >
      <button
        type="button"
        className={isDescending ? 'sort from-end' : 'sort'}
        onClick={() => onOrder(order === sort ? `-${sort}` : sort)}
      >
        {title}
        <Icon name="down" />
      </button>
    </th>
  )
}
