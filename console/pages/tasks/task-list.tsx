import '../../styles/table.css'
import { type CSSProperties, type KeyboardEvent, useRef, useState } from 'react'
import { Checkbox } from 'react-aria-components'
import { Icon } from '../../parts/icon.tsx'
import { stepTo } from '../../parts/rows.ts'
import { useTexts } from '../../texts/texts.tsx'
import { usePlaces } from '../places.ts'
import { useWindow } from './block.tsx'
import { type Lane, laneOf, UNASSIGNED } from './lanes.ts'
import type { Selection } from './selection.ts'
import { StandingMark } from './standing-mark.tsx'
import type { Board, TaskView } from './summary.tsx'
import type { Task } from './task.ts'
import { useStatusLabel, useTaskTexts } from './texts.ts'

/** The narrow one of the checkboxes does not count. */
const COLUMNS = 5
/** Rows that Page Up and Page Down pass. */
const PAGE = 12

interface Props {
  tasks: readonly Task[]
  lanes: readonly Lane[]
  board: Board
  selection: Selection
  open: (taskId: string) => void
  opened: string | undefined
}

/** The tasks of a day in the order of their beginning. Arrow keys move, Space selects, Enter opens. */
export function TaskList({ tasks, lanes, board, selection, open, opened }: Props) {
  const t = useTaskTexts()
  const { kinds } = useTexts()
  const [stop, setStop] = useState('')
  const placeOf = usePlaces(
    tasks.flatMap(({ location }) => (location && !location.address ? [location] : [])),
  )
  const names = new Map(lanes.map(({ key, name }) => [key, name]))
  const stopAt = board.has(stop) ? stop : tasks[0]?._id
  const onKeyDown = (event: KeyboardEvent<HTMLTableSectionElement>) => {
    const row = event.target as HTMLElement
    const id = row.dataset.task
    if (!id) return
    if (event.key === 'Enter') return open(id)
    if (event.key === ' ') {
      event.preventDefault()
      return event.shiftKey ? selection.extend(id) : selection.toggle(id)
    }
    const at = tasks.findIndex(({ _id }) => _id === id)
    const next = stepTo(event.key, at, { count: tasks.length, page: PAGE })
    if (next === undefined) return
    event.preventDefault()
    event.currentTarget.querySelectorAll<HTMLElement>('tr')[next]?.focus()
  }
  return (
    <div className="table-box task-list">
      <table aria-label={kinds.tasks.title} style={{ '--columns': COLUMNS } as CSSProperties}>
        <thead>
          <tr>
            <th scope="col" className="pick">
              <span className="unseen">{t.selection}</span>
            </th>
            <th scope="col">{t.time}</th>
            <th scope="col">{t.task}</th>
            <th scope="col">{t.status}</th>
            <th scope="col">{t.assignee}</th>
            <th scope="col" className="minor">
              {t.place}
            </th>
          </tr>
        </thead>
        <tbody onKeyDown={onKeyDown}>
          {tasks.map(task => {
            const view = board.get(task._id)
            return (
              view && (
                <Row
                  key={task._id}
                  view={view}
                  lane={names.get(laneOf(task)) ?? ''}
                  place={
                    task.location ? (task.location.address ?? placeOf(task.location)?.name ?? '') : t.noPlace
                  }
                  isStop={task._id === stopAt}
                  isOpen={task._id === opened}
                  isSelected={selection.ids.has(task._id)}
                  onFocus={() => setStop(task._id)}
                  onOpen={() => open(task._id)}
                  onSelect={isMany => (isMany ? selection.extend(task._id) : selection.toggle(task._id))}
                />
              )
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

interface RowProps {
  view: TaskView
  lane: string
  /** Where the task is, in words. */
  place: string
  isStop: boolean
  isOpen: boolean
  isSelected: boolean
  onFocus: () => void
  onOpen: () => void
  onSelect: (isMany: boolean) => void
}

function Row({ view, lane, place, isStop, isOpen, isSelected, onFocus, onOpen, onSelect }: RowProps) {
  const { task, flow, standing, isOutside } = view
  const t = useTaskTexts()
  const labelOf = useStatusLabel()
  const time = useWindow()(task)
  const isFree = laneOf(task) === UNASSIGNED
  const row = useRef<HTMLTableRowElement>(null)
  return (
    <tr
      ref={row}
      data-task={task._id}
      tabIndex={isStop ? 0 : -1}
      className={`opens ${isOpen ? 'open' : ''} ${isSelected ? 'selected' : ''}`}
      aria-selected={isSelected}
      onFocus={onFocus}
      onClick={({ target, shiftKey, ctrlKey, metaKey }) => {
        if ((target as Element).closest('.pick')) return
        if (shiftKey || ctrlKey || metaKey) onSelect(shiftKey)
        else onOpen()
      }}
    >
      <td className="pick">
        <Checkbox
          className="check"
          excludeFromTabOrder
          aria-label={t.select(task.name)}
          isSelected={isSelected}
          onChange={() => {
            onSelect(false)
            // Its keys go on from here, and a checkbox would take them.
            row.current?.focus()
          }}
        >
          <span className="box">
            <Icon name="check" />
          </span>
        </Checkbox>
      </td>
      <td className="whole">{time}</td>
      <td>{task.name}</td>
      <td>
        <span className={`badge ${standing}`}>
          <StandingMark standing={standing} isOutside={isOutside} />
          {labelOf(task.status, flow)}
          {(standing === 'late' || standing === 'risk') && ` · ${t.standings[standing]}`}
        </span>
        {isOutside && <span className="unseen">{t.outside}</span>}
      </td>
      <td>{isFree ? <span className="badge free">{t.unassigned}</span> : lane}</td>
      <td className="minor">{place}</td>
    </tr>
  )
}
