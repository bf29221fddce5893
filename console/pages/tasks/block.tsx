import type { CSSProperties } from 'react'
import { useFormat } from '../../texts/texts.tsx'
import { StandingMark } from './standing-mark.tsx'
import type { TaskView } from './summary.tsx'
import { useStatusLabel, useTaskTexts } from './texts.ts'

interface Props {
  view: TaskView
  style: CSSProperties
  isStop: boolean
  isOpen: boolean
  isSelected: boolean
  onOpen: () => void
  /** `isMany`: everything from the last one to here. */
  onSelect: (isMany: boolean) => void
  onDrag: ((transfer: DataTransfer) => void) | null
}

/** A task in its window. A click opens it; with Ctrl, Shift or the space bar it is selected. */
export function Block({ view, style, isStop, isOpen, isSelected, onOpen, onSelect, onDrag }: Props) {
  const { task, standing, isOutside, flow } = view
  const t = useTaskTexts()
  const labelOf = useStatusLabel()
  const time = useWindow()(task)
  const notes = [
    labelOf(task.status, flow),
    ...(standing === 'late' || standing === 'risk' ? [t.standings[standing]] : []),
    ...(isOutside ? [t.outside] : []),
  ]
  return (
    <li style={style}>
      <button
        type="button"
        className={`block ${standing} ${isOutside ? 'outside' : ''} ${isOpen ? 'open' : ''}`}
        data-task={task._id}
        tabIndex={isStop ? 0 : -1}
        aria-pressed={isSelected}
        aria-label={`${task.name}, ${time}, ${notes.join(', ')}`}
        aria-describedby="lane-hint"
        title={`${task.name}\n${time}\n${notes.join(', ')}`}
        draggable={onDrag !== null}
        onDragStart={({ dataTransfer }) => onDrag?.(dataTransfer)}
        onClick={({ ctrlKey, metaKey, shiftKey }) =>
          ctrlKey || metaKey || shiftKey ? onSelect(shiftKey) : onOpen()
        }
        onKeyDown={event => {
          if (event.key !== ' ') return
          event.preventDefault()
          onSelect(event.shiftKey)
        }}
      >
        <StandingMark standing={standing} isOutside={isOutside} />
        <span>{task.name}</span>
      </button>
    </li>
  )
}

/** Writes the window of a task: "09:00 – 10:30", with dates where it ends on another day. */
export function useWindow() {
  const t = useTaskTexts()
  const format = useFormat()
  return ({ startTime, endTime }: Pick<TaskView['task'], 'startTime' | 'endTime'>): string => {
    if (!startTime) return endTime ? `– ${format.dateTime(endTime)}` : t.noWindow
    if (!endTime) return format.clock(startTime)
    const isOneDay = format.dateOf(Date.parse(startTime)) === format.dateOf(Date.parse(endTime))
    return `${format.clock(startTime)} – ${(isOneDay ? format.clock : format.dateTime)(endTime)}`
  }
}
