import { useEffect, useMemo, useRef } from 'react'
import { boundsAround } from '../../map/geometry.ts'
import { useMap } from '../../map/use-map.ts'
import { IconButton } from '../../parts/parts.tsx'
import { useTexts } from '../../texts/texts.tsx'
import { useWindow } from './block.tsx'
import { type Lane, UNASSIGNED } from './lanes.ts'
import { StandingMark } from './standing-mark.tsx'
import type { Board } from './summary.tsx'
import type { Task } from './task.ts'
import type { Route } from './task-layer.ts'
import { useTaskTexts } from './texts.ts'

const PADDING_PX = 56
const MAX_ZOOM = 15
const loadDrawing = () => import('./task-layer.ts')

interface Props {
  lanes: readonly Lane[]
  board: Board
  open: (taskId: string) => void
  opened: string | undefined
}

interface Pin {
  task: Task & { location: NonNullable<Task['location']> }
  /** Its place in the order of its lane. */
  order: number
  lane: string
  /** The index of the lane's colour; null for unassigned tasks. */
  color: number | null
}

/** The colours of tracks, which lanes share in turn. */
const COLORS = 6

/** The tasks of a day where they are, joined in the order in which each lane does them. */
export function TaskMap({ lanes, board, open, opened }: Props) {
  const texts = useTexts()
  const t = useTaskTexts()
  const windowOf = useWindow()
  const container = useRef<HTMLElement>(null)
  const list = useRef<HTMLOListElement>(null)
  const map = useMap(container, loadDrawing)
  const pins = useMemo(() => pinsOf(lanes), [lanes])
  const key = pins.map(({ task: { _id, location } }) => `${_id} ${location.lat} ${location.lng}`).join()
  const routes = useMemo(() => routesOf(pins), [pins])
  useEffect(() => map.opened?.loaded.showRoutes(map.opened.map, routes), [map.opened, routes])

  const showAll = (animate: boolean) => {
    const bounds = boundsAround(pins.map(({ task: { location } }) => [location.lng, location.lat]))
    if (!map.opened || !bounds) return
    map.opened.map.resize()
    map.opened.map.fitBounds(bounds, { padding: PADDING_PX, maxZoom: MAX_ZOOM, animate, duration: 500 })
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same places leave the camera where it is
  useEffect(() => showAll(false), [map.opened, key])
  useEffect(() => {
    if (map.opened && list.current) return map.opened.loaded.placePins(map.opened.map, list.current)
  })

  const all = lanes.reduce((sum, lane) => sum + lane.tasks.length, 0)
  return (
    <div className="map task-map">
      <section className="map-canvas" ref={container} aria-label={t.map} />
      <ol className="task-pins" ref={list} aria-label={t.pins}>
        {pins.map(({ task, order, lane, color }) => {
          const view = board.get(task._id)
          const { lat, lng } = task.location
          return (
            view && (
              <li key={task._id} data-lat={lat} data-lng={lng}>
                <button
                  type="button"
                  className={`pin ${view.standing} ${task._id === opened ? 'open' : ''}`}
                  data-task={task._id}
                  style={color === null ? undefined : { borderColor: `var(--track-${color + 1})` }}
                  aria-label={`${lane}, ${t.pin(String(order), task.name)}, ${windowOf(task)}, ${t.standings[view.standing]}`}
                  title={`${task.name}\n${windowOf(task)}\n${lane}`}
                  onClick={() => open(task._id)}
                >
                  {order}
                  {(view.standing === 'late' || view.standing === 'risk' || view.standing === 'done') && (
                    <StandingMark standing={view.standing} isOutside={false} />
                  )}
                </button>
              </li>
            )
          )
        })}
      </ol>
      {map.failed && <p className="map-note">{t.noWebgl}</p>}
      {!map.failed && pins.length < all && <p className="map-note">{t.withoutPlace(all - pins.length)}</p>}
      <div className="map-buttons">
        <IconButton icon="all" label={t.showAll} onPress={() => showAll(true)} />
        <IconButton icon="plus" label={texts.map.zoomIn} onPress={() => map.opened?.map.zoomIn()} />
        <IconButton icon="minus" label={texts.map.zoomOut} onPress={() => map.opened?.map.zoomOut()} />
      </div>
    </div>
  )
}

function pinsOf(lanes: readonly Lane[]): Pin[] {
  const placed = (task: Task): task is Pin['task'] => task.location !== null
  return lanes.flatMap((lane, index) =>
    lane.tasks.filter(placed).map((task, at) => ({
      task,
      order: at + 1,
      lane: lane.name,
      color: lane.key === UNASSIGNED ? null : (index - 1) % COLORS,
    })),
  )
}

/** The way of each lane from task to task. Nobody goes from one unassigned task to the next. */
function routesOf(pins: readonly Pin[]): Route[] {
  const byLane = new Map<string, Route>()
  for (const { task, lane, color } of pins) {
    if (color === null) continue
    const route = byLane.get(lane) ?? { color, line: [] }
    route.line.push([task.location.lng, task.location.lat])
    byLane.set(lane, route)
  }
  return [...byLane.values()].filter(({ line }) => line.length > 1)
}
