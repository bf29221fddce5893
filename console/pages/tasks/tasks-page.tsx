import '../../styles/pages.css'
import '../../styles/tasks.css'
import { Suspense, useDeferredValue, useMemo, useState } from 'react'
import { Input, SearchField } from 'react-aria-components'
import { useNavigate, useParams } from 'react-router'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { MAX_SEARCH } from '../../api/lists.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { useNow } from '../../live/live.tsx'
import { ChooseRecord } from '../../parts/choose-record.tsx'
import { stepDay } from '../../parts/days.ts'
import { Icon } from '../../parts/icon.tsx'
import { ActionButton, IconButton, Trouble } from '../../parts/parts.tsx'
import { useSingleKeys } from '../../parts/single-keys.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { useTasksAddress } from './address.ts'
import { AssignDialog } from './assign-dialog.tsx'
import { useAssign } from './assigning.ts'
import { TaskDayPicker } from './day-picker.tsx'
import { lanesOf, vehicleOf } from './lanes.ts'
import { useSelection } from './selection.ts'
import { isOutsideHours, standingOf } from './standing.ts'
import { Summary, ViewSwitch } from './summary.tsx'
import type { Task } from './task.ts'
import { TaskForm } from './task-form.tsx'
import { TaskList } from './task-list.tsx'
import { TaskMap } from './task-map.tsx'
import { TaskPanel } from './task-panel.tsx'
import { isRead, useDay, useFlows, usePeople, useTeams, useVehicles } from './task-queries.ts'
import { useTaskTexts } from './texts.ts'
import { Timeline } from './timeline.tsx'

const CopyDayDialog = lazyWithRetry(() => import('./copy-day-dialog.tsx'))
/** Standings change with the clock. */
const TICK_MS = 30_000
const NO_TASKS: Task[] = []

/** The tasks of a day as a list, a timeline or a map. The address names the day, the view and the open task. */
export function Component() {
  const texts = useTexts()
  const format = useFormat()
  const t = useTaskTexts()
  const { may, timeZone, user } = useWorkspace()
  const navigate = useNavigate()
  const { id } = useParams()
  const now = useNow(TICK_MS)
  const [address, change, at] = useTasksAddress(format.dateOf(now))
  const { day, teamId, view } = address
  const read = useDay(day, teamId)
  const [flows, people, vehicles, teams] = [useFlows(), usePeople(), useVehicles(), useTeams()]
  const [isEditing, setEditing] = useState(false)
  const [isCopying, setCopying] = useState(false)
  const search = useDeferredValue(address.search.trim().toLowerCase())
  const all = read.data?.tasks ?? NO_TASKS
  const tasks = useMemo(
    () =>
      all.filter(({ name, code, location }) =>
        `${name} ${code} ${location?.address ?? ''}`.toLowerCase().includes(search),
      ),
    [all, search],
  )
  const board = useMemo(() => {
    const flowOf = new Map(flows.map(flow => [flow._id, flow]))
    const views = tasks.map(task => {
      const flow = flowOf.get(task.flowId)
      return {
        task,
        flow,
        standing: standingOf(task, flow, now),
        isOutside: isOutsideHours(task, vehicleOf(task, vehicles), timeZone),
      }
    })
    return new Map(views.map(one => [one.task._id, one]))
  }, [tasks, flows, vehicles, timeZone, now])
  const lanes = useMemo(() => {
    const memberIds = teams.find(({ _id }) => _id === teamId)?.memberIds ?? null
    const words = { unassigned: t.unassigned, unknown: texts.form.unknown }
    const members = new Set(teams.flatMap(team => team.memberIds))
    return lanesOf(tasks, { people, vehicles, memberIds, members, words })
  }, [tasks, people, vehicles, teams, teamId, t, texts])
  /** In the order in which the view shows them. */
  const shown = useMemo(
    () => (view === 'timeline' ? lanes.flatMap(lane => lane.tasks) : tasks).map(({ _id }) => _id),
    [view, lanes, tasks],
  )
  const selection = useSelection(shown)
  const scope = user.permissionDetails.find(one => one.permissionName === 'update/task')?.scope
  // Whoever may change the own tasks alone has nobody to give them to.
  const mayAssign = scope !== undefined && scope !== 'own'
  const assigning = useAssign()
  const [wanted, setWanted] = useState<readonly Task[] | null>(null)
  const go = (to: string) => {
    setEditing(false)
    void navigate(at(to))
  }
  const open = (taskId: string) => go(`/${taskId}`)
  const tasksOf = (ids: ReadonlySet<string>) => tasks.filter(({ _id }) => ids.has(_id))
  /** The selected tasks, or the one that has the focus or is open. */
  const chosen = () => {
    const focused = (document.activeElement as HTMLElement | null)?.closest<HTMLElement>('[data-task]')
      ?.dataset.task
    return selection.ids.size > 0 ? tasksOf(selection.ids) : tasksOf(new Set([focused ?? id ?? '']))
  }
  const askWhom = () => {
    const tasks = chosen()
    if (mayAssign && tasks.length > 0) setWanted(tasks)
  }
  useSingleKeys({ a: askWhom, n: () => may('create/task') && go('/new') })
  const openDay = { from: format.startOf(day), to: format.startOf(stepDay(day, 1)) }
  const shared = { board, selection, open, opened: id }
  const give = (ids: ReadonlySet<string>, laneKey: string) => {
    const lane = lanes.find(({ key }) => key === laneKey)
    if (lane)
      assigning.assign({ tasks: tasksOf(ids), target: lane.target, to: lane.key ? lane.name : t.nobody })
  }
  return (
    <main className="page tasks-page" id="content">
      <title>{`${texts.kinds.tasks.title} · ${texts.product}`}</title>
      <header className="page-head">
        <h1>{texts.kinds.tasks.title}</h1>
        <TaskDayPicker day={day} onChange={day => change({ day })} />
        {may('create/task') && (
          <IconButton
            icon="copy"
            label={t.copyDay}
            isDisabled={all.length === 0}
            onPress={() => setCopying(true)}
          />
        )}
        <ViewSwitch view={view} onChange={view => change({ view })} />
        <div className="end">
          {may('view/team') && (
            <ChooseRecord
              compact
              kind="teams"
              label={t.team}
              none={t.allTeams}
              value={teamId}
              onChange={teamId => change({ teamId })}
            />
          )}
          <SearchField
            className="search"
            aria-label={t.find}
            value={address.search}
            onChange={search => change({ search })}
          >
            <Icon name="search" />
            <Input placeholder={t.find} maxLength={MAX_SEARCH} />
            <IconButton icon="close" label={texts.map.clear} className="clear" />
          </SearchField>
          {may('create/task') && (
            <ActionButton looks="primary" icon="plus" onPress={() => go('/new')}>
              {texts.kinds.tasks.create}
            </ActionButton>
          )}
        </div>
        <Summary views={[...board.values()]} />
        {read.data?.isCut && <p className="note">{t.cut(format.count(all.length))}</p>}
      </header>
      {assigning.error !== null && (
        <div className="stack">
          <p className="hint">{t.notAll}</p>
          <Trouble error={assigning.error} isDeed />
        </div>
      )}
      {selection.ids.size > 0 && (
        <div className="selection-bar" role="status">
          <span>{t.selected(selection.ids.size, format.count(selection.ids.size))}</span>
          {mayAssign && <ActionButton onPress={askWhom}>{t.assignKey}</ActionButton>}
          <ActionButton looks="quiet" onPress={selection.clear}>
            {t.clear}
          </ActionButton>
        </div>
      )}
      <div className={id && id !== 'new' ? 'tasks-body with-panel' : 'tasks-body'}>
        <div className="tasks-view">
          {read.error && !read.data ? (
            <Trouble error={read.error} onRetry={() => void read.refetch()} />
          ) : !read.data || (view === 'timeline' && ![flows, people, vehicles, teams].every(isRead)) ? (
            <p className="hint">{texts.loading}</p>
          ) : tasks.length === 0 && (view !== 'timeline' || search !== '') ? (
            <div className="empty">
              <p>{search ? t.noneFound : t.none}</p>
              <p className="hint">{search ? texts.records.noneFoundHint : t.noneHint}</p>
            </div>
          ) : view === 'timeline' ? (
            <Timeline
              lanes={lanes}
              day={{ date: day, ...openDay }}
              now={now}
              onGive={mayAssign ? give : null}
              {...shared}
            />
          ) : view === 'map' ? (
            <TaskMap lanes={lanes} {...shared} />
          ) : (
            <TaskList tasks={tasks} lanes={lanes} {...shared} />
          )}
        </div>
        {id && id !== 'new' && !isEditing && (
          <TaskPanel
            key={id}
            id={id}
            view={board.get(id)}
            onAssign={mayAssign ? task => setWanted([task]) : null}
            onEdit={() => setEditing(true)}
            onClose={() => go('')}
          />
        )}
      </div>
      {id === 'new' && may('create/task') && (
        <TaskForm id={null} day={day} onClose={() => go('')} onSaved={open} />
      )}
      {id && id !== 'new' && isEditing && (
        <TaskForm id={id} day={day} onClose={() => setEditing(false)} onSaved={open} />
      )}
      {isCopying && (
        <Suspense>
          <CopyDayDialog
            day={day}
            teamId={teamId}
            tasks={all}
            onClose={() => setCopying(false)}
            onCopied={day => {
              setCopying(false)
              change({ day })
            }}
          />
        </Suspense>
      )}
      {wanted && (
        <AssignDialog
          tasks={wanted}
          onChoose={(target, to) => {
            assigning.assign({ tasks: wanted, target, to })
            setWanted(null)
            selection.clear()
          }}
          onClose={() => setWanted(null)}
        />
      )}
    </main>
  )
}
