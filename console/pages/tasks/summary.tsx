import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { useFormat } from '../../texts/texts.tsx'
import { VIEWS, type View } from './address.ts'
import { laneOf, UNASSIGNED } from './lanes.ts'
import type { Standing } from './standing.ts'
import type { Flow, Task } from './task.ts'
import { useTaskTexts } from './texts.ts'

/** A task with everything about it that its look depends on. */
export interface TaskView {
  task: Task
  flow: Flow | undefined
  standing: Standing
  isOutside: boolean
}

export type Board = ReadonlyMap<string, TaskView>

const ICONS: Record<View, IconName> = { list: 'list', timeline: 'calendar', map: 'map' }

export function ViewSwitch({ view, onChange }: { view: View; onChange: (view: View) => void }) {
  const t = useTaskTexts()
  return (
    <ToggleButtonGroup
      className="switch"
      aria-label={t.view}
      selectionMode="single"
      disallowEmptySelection
      selectedKeys={[view]}
      onSelectionChange={([chosen]) => onChange(chosen as View)}
    >
      {VIEWS.map(name => (
        <ToggleButton key={name} id={name}>
          <Icon name={ICONS[name]} />
          {t[name]}
        </ToggleButton>
      ))}
    </ToggleButtonGroup>
  )
}

/** The day in one line, which is kept while it is empty: how much is done, and everything that needs somebody. */
export function Summary({ views }: { views: readonly TaskView[] }) {
  const t = useTaskTexts()
  const format = useFormat()
  const count = (isCounted: (view: TaskView) => boolean) => views.filter(isCounted).length
  const isOpen = ({ standing }: TaskView) => !['done', 'failed', 'cancelled'].includes(standing)
  const parts = [
    ['late', count(({ standing }) => standing === 'late'), t.lateCount],
    ['risk', count(({ standing }) => standing === 'risk'), t.riskCount],
    ['free', count(view => isOpen(view) && laneOf(view.task) === UNASSIGNED), t.unassignedCount],
    ['outside', count(view => isOpen(view) && view.isOutside), t.outsideCount],
  ] as const
  return (
    <p className="hint task-summary" role="status">
      <span>
        {views.length > 0 &&
          t.summary(
            views.length,
            format.count(views.length),
            format.count(count(({ standing }) => standing === 'done')),
          )}
      </span>
      {parts.map(
        ([name, number, say]) =>
          number > 0 && (
            <span key={name} className={`badge ${name}`}>
              {say(format.count(number))}
            </span>
          ),
      )}
    </p>
  )
}
