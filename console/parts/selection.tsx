import { type KeyboardEvent, type MouseEvent, useEffect, useRef } from 'react'

/** The records that are chosen in a table, by their identifiers. */
export interface Selection<T> {
  chosen: ReadonlyMap<string, T>
  onChange: (chosen: ReadonlyMap<string, T>) => void
  /** The label of the box of a record, and of the one for all. */
  label: (record: T) => string
  labelOfAll: string
}

/** The keys and clicks by which the rows of a table are chosen. */
export function useRowSelection<T extends { _id: string }>(
  selection: Selection<T> | undefined,
  records: readonly T[],
) {
  /** The row from which a range extends. */
  const anchor = useRef(0)
  if (!selection) return null
  const { chosen, onChange } = selection
  const put = (isChosen: boolean, some: readonly T[]) => {
    const next = new Map(chosen)
    for (const one of some) {
      if (isChosen) next.set(one._id, one)
      else next.delete(one._id)
    }
    onChange(next)
  }
  const rangeTo = (index: number) =>
    records.slice(Math.min(anchor.current, index), Math.max(anchor.current, index) + 1)
  const toggle = (index: number) => {
    const record = records[index]
    anchor.current = index
    if (record) put(!chosen.has(record._id), [record])
  }
  return {
    ...selection,
    isAll: records.length > 0 && records.every(({ _id }) => chosen.has(_id)),
    toggleAll: (isChosen: boolean) => put(isChosen, records),
    onClick(index: number, { shiftKey }: Pick<MouseEvent, 'shiftKey'>) {
      if (shiftKey) put(true, rangeTo(index))
      else toggle(index)
    },
    /** Handles a key on a row. Returns whether it was one of these; `next` is where an arrow key leads. */
    onKey(event: KeyboardEvent, index: number, next: number | undefined): boolean {
      const { key, shiftKey, ctrlKey, metaKey } = event
      if (key === ' ') {
        if (shiftKey) put(true, rangeTo(index))
        else toggle(index)
      } else if (key === 'a' && (ctrlKey || metaKey)) put(true, records)
      else if (key === 'Escape' && chosen.size > 0) onChange(new Map())
      else {
        if (shiftKey && next !== undefined) put(true, rangeTo(next))
        else if (next !== undefined) anchor.current = next
        return false
      }
      event.preventDefault()
      return true
    },
  }
}

type RowSelection<T extends { _id: string }> = NonNullable<ReturnType<typeof useRowSelection<T>>>

interface AllProps {
  isAll: boolean
  isSome: boolean
  label: string
  onChange: (isChosen: boolean) => void
}

/** The box in the heading, which chooses all rows that are loaded. */
export function ChooseAll({ isAll, isSome, label, onChange }: AllProps) {
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (box.current) box.current.indeterminate = isSome && !isAll
  })
  return (
    <th scope="col" className="pick">
      <input
        ref={box}
        type="checkbox"
        aria-label={label}
        checked={isAll}
        onChange={({ target }) => onChange(target.checked)}
      />
    </th>
  )
}

interface CellProps<T extends { _id: string }> {
  selection: RowSelection<T>
  record: T
  index: number
}

/** The box of a row. The row itself takes the space bar, so it is no tab stop. */
export function ChooseCell<T extends { _id: string }>({ selection, record, index }: CellProps<T>) {
  return (
    <td className="pick">
      <input
        type="checkbox"
        tabIndex={-1}
        aria-label={selection.label(record)}
        checked={selection.chosen.has(record._id)}
        onChange={() => {}}
        onClick={event => {
          selection.onClick(index, event)
          // The keys belong to the row.
          event.currentTarget.closest('tr')?.focus()
        }}
      />
    </td>
  )
}
