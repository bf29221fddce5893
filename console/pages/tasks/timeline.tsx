import {
  type CSSProperties,
  type DragEvent,
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { fromRem } from '../../parts/rem.ts'
import { useFormat } from '../../texts/texts.tsx'
import { Block } from './block.tsx'
import { type Lane, placeTasks, spanOf } from './lanes.ts'
import type { Selection } from './selection.ts'
import { shiftsOn } from './standing.ts'
import type { Board } from './summary.tsx'
import { useTaskTexts } from './texts.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** A label needs about this share of the width. */
const MAX_LABELS = 13
/** The least room of a task's label: some words of its name, beside its sign. */
const LABEL_REM = 7
/** The type of what is dragged: tasks of this page, and nothing from elsewhere. */
const DRAGGED = 'application/x-fieldline-tasks'

export interface Span {
  from: number
  to: number
}

interface Props {
  lanes: readonly Lane[]
  day: Span & { date: string }
  now: number
  board: Board
  selection: Selection
  open: (taskId: string) => void
  opened: string | undefined
  /** Gives tasks to a lane; null where the role may not. */
  onGive: ((taskIds: ReadonlySet<string>, lane: string) => void) | null
}

/** A lane for each person, with tasks as blocks in their windows. */
export function Timeline({ lanes, day, now, board, selection, open, opened, onGive }: Props) {
  const t = useTaskTexts()
  const format = useFormat()
  const box = useRef<HTMLDivElement>(null)
  const [over, setOver] = useState<string | null>(null)
  /** Tab stops at one block: the one that had the focus last, or the first. */
  const [stop, setStop] = useState('')
  const span = useMemo(
    () =>
      spanOf(
        lanes.flatMap(lane => lane.tasks),
        day,
        now,
      ),
    [lanes, day, now],
  )
  const share = (at: number) => ((at - span.from) / (span.to - span.from)) * 100
  const hours = (span.to - span.from) / HOUR_MS
  const scale = useRef<HTMLDivElement>(null)
  const width = useWidth(scale)
  const labelMs = width > 0 ? (fromRem(LABEL_REM) / width) * (span.to - span.from) : 0
  const step = Math.ceil(hours / MAX_LABELS)
  const ticks = Array.from(
    { length: Math.floor(hours / step) + 1 },
    (_, index) => span.from + index * step * HOUR_MS,
  )
  const first = lanes.flatMap(lane => lane.tasks)[0]?._id
  const stopAt = board.has(stop) ? stop : first
  const isNow = now >= span.from && now <= span.to
  const isDragged = (event: DragEvent) => onGive !== null && event.dataTransfer.types.includes(DRAGGED)
  const onKeyDown = (event: KeyboardEvent) => {
    const block = (event.target as HTMLElement).closest<HTMLElement>('[data-task]')
    const next = block && box.current ? neighbour(box.current, block, event.key) : null
    if (!next) return
    event.preventDefault()
    next.focus()
    next.scrollIntoView({ block: 'nearest' })
  }
  return (
    <>
      <p className="unseen" id="lane-hint">
        {t.laneHint}
      </p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys are the timeline's, whichever of its blocks has the focus */}
      <div
        className="timeline"
        ref={box}
        style={{ '--step': `${(step / hours) * 100}%` } as CSSProperties}
        onKeyDown={onKeyDown}
        onFocus={({ target }) => setStop(target.dataset.task ?? stop)}
      >
        <div className="timeline-hours" ref={scale} aria-hidden="true">
          {ticks.map(at => (
            <span key={at} style={{ left: `${share(at)}%` }}>
              {format.clock(at)}
            </span>
          ))}
          {isNow && (
            <b className="now-label" style={{ left: `${share(now)}%` }}>
              {format.clock(now)}
            </b>
          )}
        </div>
        <p className="unseen">{isNow && t.now(format.clock(now))}</p>
        {lanes.map(lane => {
          const { placed, lines } = placeTasks(lane.tasks, labelMs)
          return (
            <section
              key={lane.key}
              className={`lane ${lane.key === '' ? 'free' : ''} ${over === lane.key ? 'over' : ''}`}
              aria-label={t.lane(lane.name, lane.tasks.length, format.count(lane.tasks.length))}
              onDragOver={event => {
                if (!isDragged(event)) return
                event.preventDefault()
                setOver(lane.key)
              }}
              onDragLeave={({ currentTarget, relatedTarget }) => {
                if (!currentTarget.contains(relatedTarget as Node | null)) setOver(null)
              }}
              onDrop={event => {
                setOver(null)
                if (!isDragged(event)) return
                event.preventDefault()
                onGive?.(new Set(event.dataTransfer.getData(DRAGGED).split(' ')), lane.key)
              }}
            >
              <div className="lane-name">
                <b title={lane.name}>{lane.name}</b>
                <span className="hint">{lane.vehicle?.name}</span>
              </div>
              <div className="lane-time" style={{ '--lines': lines } as CSSProperties}>
                <Shifts lane={lane} day={day} share={share} />
                {isNow && <i className="now" style={{ left: `${share(now)}%` }} />}
                <ul>
                  {placed.map(({ task, line, from, to, roomTo }) => {
                    const view = board.get(task._id)
                    return (
                      view && (
                        <Block
                          key={task._id}
                          view={view}
                          style={
                            {
                              '--from': share(from),
                              '--length': share(to) - share(from),
                              '--room': share(Math.min(roomTo, span.to)) - share(from),
                              '--at': line,
                            } as CSSProperties
                          }
                          isStop={task._id === stopAt}
                          isOpen={task._id === opened}
                          isSelected={selection.ids.has(task._id)}
                          onOpen={() => open(task._id)}
                          onSelect={isMany =>
                            isMany ? selection.extend(task._id) : selection.toggle(task._id)
                          }
                          onDrag={
                            onGive &&
                            (transfer => {
                              transfer.setData(DRAGGED, [...selection.ensure(task._id)].join(' '))
                              transfer.effectAllowed = 'move'
                            })
                          }
                        />
                      )
                    )
                  })}
                </ul>
              </div>
            </section>
          )
        })}
      </div>
    </>
  )
}

/** The width of an element in pixels, as it is drawn; 0 before. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    if (!element.current) return
    const sizes = new ResizeObserver(([entry]) => setWidth(Math.round(entry?.contentRect.width ?? 0)))
    sizes.observe(element.current)
    return () => sizes.disconnect()
  }, [element])
  return width
}

/** The working hours of a lane, lighter than the rest of its day. */
function Shifts({ lane, day, share }: { lane: Lane; day: Props['day']; share: (at: number) => number }) {
  if (!lane.vehicle || lane.vehicle.workingHours.length === 0) return null
  return shiftsOn(day.date, lane.vehicle).map(([from, to]) => {
    const [start, end] = [from, to].map(minutes =>
      Math.max(0, Math.min(100, share(day.from + minutes * MINUTE_MS))),
    )
    return (
      <i key={from} className="shift" style={{ left: `${start}%`, width: `${(end ?? 0) - (start ?? 0)}%` }} />
    )
  })
}

/** The block that an arrow key leads to: along the lane, or to the nearest one of the next lane that has any. */
function neighbour(box: HTMLElement, block: HTMLElement, key: string): HTMLElement | null {
  const blocksOf = (lane: Element) => [...lane.querySelectorAll<HTMLElement>('[data-task]')]
  const lane = block.closest('.lane') as HTMLElement
  const own = blocksOf(lane)
  const along = { ArrowLeft: -1, ArrowRight: 1 }[key]
  if (along) return own[own.indexOf(block) + along] ?? null
  const across = { ArrowUp: -1, ArrowDown: 1 }[key]
  if (!across) return key === 'Home' ? (own[0] ?? null) : key === 'End' ? (own.at(-1) ?? null) : null
  const lanes = [...box.querySelectorAll('.lane')].filter(one => one === lane || blocksOf(one).length > 0)
  const next = lanes[lanes.indexOf(lane) + across]
  const startOf = (one: HTMLElement) => one.getBoundingClientRect().left
  return (
    (next ? blocksOf(next) : []).sort(
      (one, other) => Math.abs(startOf(one) - startOf(block)) - Math.abs(startOf(other) - startOf(block)),
    )[0] ?? null
  )
}
