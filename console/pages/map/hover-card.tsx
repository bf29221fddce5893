import { useFleetVersion, useLive } from '../../live/live.tsx'
import { StateMark } from '../../parts/icon.tsx'
import { useDebounced } from '../../parts/use-debounced.ts'
import { useTexts } from '../../texts/texts.tsx'
import { usePlace } from '../places.ts'
import { sayWork, useWork } from './subject-work.ts'

const MOVES_EVERY_MS = 500

/** The subject under the pointer, and where the pointer reached it. */
export interface Hovered {
  id: string
  x: number
  y: number
  /** The width of the map. */
  width: number
}

/**
 * Says who a marker under the pointer is, with driver, task and place. Screen readers and keyboards have the list and the panel for
 * that.
 */
export default function HoverCard({ id, x, y, width }: Hovered) {
  const { states } = useTexts()
  const { fleet } = useLive()
  useFleetVersion(fleet, MOVES_EVERY_MS)
  const position = fleet.find(id)
  const rests = useDebounced(id) === id
  const place = usePlace(id, position ?? { lat: 0, lng: 0 }, position !== undefined && rests)
  const work = sayWork(useWork(id))
  if (!position) return null
  const isRight = x > width / 2
  return (
    <div
      className={isRight ? 'hover-card leftwards' : 'hover-card'}
      aria-hidden="true"
      style={{ left: x, top: y }}
    >
      <b>{position.name}</b>
      <span className="hover-state">
        <StateMark state={position.state} />
        {states[position.state]}
      </span>
      {work && <span>{work}</span>}
      {place && <span className="hint">{place}</span>}
    </div>
  )
}
