import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, Suspense, useState } from 'react'
import { Link } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { isMissing } from '../../api/failure.ts'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { RecordName } from '../../parts/choose-record.tsx'
import { useEscape, useReturnFocus } from '../../parts/focus.ts'
import { MissingRecord } from '../../parts/missing-record.tsx'
import { ActionButton, IconButton, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import { DataName } from '../data/choose-data.tsx'
import { usePlaces } from '../places.ts'
import { useWindow } from './block.tsx'
import { PersonName } from './choose-person.tsx'
import { vehicleOf } from './lanes.ts'
import { NextSteps } from './next-steps.tsx'
import { isShareable } from './standing.ts'
import { StandingMark } from './standing-mark.tsx'
import type { TaskView } from './summary.tsx'
import type { Flow, Task } from './task.ts'
import { isRead, readTask, useFlows, usePeople, useVehicles } from './task-queries.ts'
import { useStatusLabel, useTaskTexts } from './texts.ts'

const ShareDialog = lazyWithRetry(() => import('../share-dialog.tsx'))

interface Props {
  id: string
  /** How the task stands, where it is on the shown day. */
  view: TaskView | undefined
  onAssign: ((task: Task) => void) | null
  onEdit: () => void
  onClose: () => void
}

/** Everything about one task, beside the day. */
export function TaskPanel({ id, view, onAssign, onEdit, onClose }: Props) {
  const { records, loading } = useTexts()
  const t = useTaskTexts()
  const found = useQuery({ queryKey: ['tasks', id], queryFn: () => readTask(id) })
  useReturnFocus()
  useEscape(onClose)
  const task = found.data
  // They add buttons and lines above others.
  const isWhole = [useFlows(), useVehicles()].every(isRead)
  return (
    <aside className="panel task-panel" aria-label={task?.name ?? t.task}>
      <div className="panel-head">
        <h2>{task?.name ?? t.task}</h2>
        <IconButton icon="close" label={t.close} onPress={onClose} />
      </div>
      {task && !isWhole ? (
        <p className="hint">{loading}</p>
      ) : task ? (
        <Shown task={task} view={view} onAssign={onAssign} onEdit={onEdit} onClose={onClose} />
      ) : (
        found.error &&
        (isMissing(found.error) ? (
          <MissingRecord>{records.missing}</MissingRecord>
        ) : (
          <Trouble error={found.error} onRetry={() => void found.refetch()} />
        ))
      )}
    </aside>
  )
}

function Shown({ task, view, onAssign, onEdit, onClose }: Omit<Props, 'id'> & { task: Task }) {
  const texts = useTexts()
  const t = useTaskTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const queries = useQueryClient()
  const flow = useFlows().find(({ _id }) => _id === task.flowId)
  const vehicles = useVehicles()
  const labelOf = useStatusLabel()
  const windowOf = useWindow()
  const [isSharing, setSharing] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const remove = useMutation({
    mutationFn: () => answered(api.DELETE('/api/v3/task/{id}', { params: { path: { id: task._id } } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['tasks', 'day'] })
      onClose()
    },
  })
  const people = usePeople()
  const vehicle = vehicleOf(task, vehicles)
  const subject = vehicle?.deviceId
    ? { subjectId: vehicle.deviceId, subjectType: 'device' as const, name: vehicle.name }
    : task.assigneeId && {
        subjectId: task.assigneeId,
        subjectType: 'user' as const,
        name: people.find(({ _id }) => _id === task.assigneeId)?.name ?? task.name,
      }
  const mayShare =
    subject && isShareable(task.status, flow) && may('create/tracking-link') && may('view/location')
  const facts: [string, ReactNode][] = [
    [
      t.window,
      task.startTime
        ? `${format.longDate(format.dateOf(Date.parse(task.startTime)))}, ${windowOf(task)}`
        : windowOf(task),
    ],
    [t.assignee, task.assigneeId ? <PersonName key="user" id={task.assigneeId} /> : t.unassigned],
    ...(task.vehicleId || vehicle
      ? [
          [t.vehicle, <RecordName key="vehicle" kind="vehicles" id={task.vehicleId ?? vehicle?._id} />] as [
            string,
            ReactNode,
          ],
        ]
      : []),
    ...(task.teamId
      ? [[t.team, <RecordName key="team" kind="teams" id={task.teamId} />] as [string, ReactNode]]
      : []),
    ...(task.hubId
      ? [[texts.subject.hub, <RecordName key="hub" kind="hubs" id={task.hubId} />] as [string, ReactNode]]
      : []),
    [t.place, <PlaceName key="place" task={task} />],
    [t.code, task.code],
  ]
  return (
    <div className="stack">
      <p className="task-state">
        <span className={`badge ${view?.standing ?? 'planned'}`}>
          {view && <StandingMark standing={view.standing} isOutside={view.isOutside} />}
          {labelOf(task.status, flow)}
        </span>
        {(view?.standing === 'late' || view?.standing === 'risk') && (
          <span>{t.standings[view.standing]}</span>
        )}
        {view?.isOutside && <span>{t.outside}</span>}
      </p>
      <div className="row-of-buttons">
        {onAssign && <ActionButton onPress={() => onAssign(task)}>{t.assign}</ActionButton>}
        {may('update/task') && (
          <ActionButton icon="draw" onPress={onEdit}>
            {t.edit}
          </ActionButton>
        )}
        {mayShare && (
          <ActionButton icon="share" onPress={() => setSharing(true)}>
            {t.share}
          </ActionButton>
        )}
      </div>
      <dl className="facts wide">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {may('update/task') && <NextSteps task={task} flow={flow} />}
      {task.dataIds.length > 0 && may('view/data') && (
        <section className="stack-small">
          <h3>{t.records}</h3>
          <ul>
            {task.dataIds.map(id => (
              <li key={id}>
                <DataName id={id} isLink />
              </li>
            ))}
          </ul>
        </section>
      )}
      <Content task={task} flow={flow} />
      <History task={task} flow={flow} />
      {may('delete/task') &&
        (isAsking ? (
          <Question
            ask={t.deleteAsk(task.name)}
            yes={t.delete}
            isPending={remove.isPending}
            onYes={() => remove.mutate()}
            onNo={() => setAsking(false)}
          />
        ) : (
          <div className="row-of-buttons">
            <ActionButton looks="quiet" onPress={() => setAsking(true)}>
              {t.delete}
            </ActionButton>
          </div>
        ))}
      {remove.error && <Trouble error={remove.error} isDeed />}
      {isSharing && subject && (
        <Suspense>
          <ShareDialog subject={subject} taskId={task._id} onClose={() => setSharing(false)} />
        </Suspense>
      )}
    </div>
  )
}

function PlaceName({ task: { location } }: { task: Task }) {
  const t = useTaskTexts()
  const placeOf = usePlaces(location && !location.address ? [location] : [])
  if (!location) return t.noPlace
  const words = location.address ?? placeOf(location)?.name ?? `${location.lat}, ${location.lng}`
  return (
    <Link to={`${urls.map}#15/${location.lat.toFixed(5)}/${location.lng.toFixed(5)}`} title={t.showPlace}>
      {words}
    </Link>
  )
}

/** The values of a task with the labels of its flow's fields. */
function Content({ task, flow }: { task: Task; flow: Flow | undefined }) {
  const t = useTaskTexts()
  const labels = new Map(flow?.steps.flatMap(({ fields }) => fields).map(({ key, label }) => [key, label]))
  const entries = Object.entries(task.content)
  if (entries.length === 0) return null
  return (
    <section className="stack-small">
      <h3>{t.content}</h3>
      <dl className="facts wide">
        {entries.map(([key, value]) => (
          <div key={key}>
            <dt>{labels.get(key) ?? key}</dt>
            <dd>{say(value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

const say = (value: unknown): string =>
  value === null || value === undefined
    ? '–'
    : Array.isArray(value)
      ? value.map(say).join(', ')
      : typeof value === 'object'
        ? 'address' in value && value.address
          ? String(value.address)
          : JSON.stringify(value)
        : String(value)

/** Every status that the task has taken: when, by whom, and where. */
function History({ task, flow }: { task: Task; flow: Flow | undefined }) {
  const t = useTaskTexts()
  const format = useFormat()
  const labelOf = useStatusLabel()
  const points = task.history.flatMap(({ lat, lng }) => (lat === null || lng === null ? [] : [{ lat, lng }]))
  const placeOf = usePlaces(points)
  return (
    <section className="stack-small">
      <h3>{t.history}</h3>
      <ol className="task-history">
        {[...task.history].reverse().map(({ status, at, by, lat, lng, note }) => {
          const place = lat === null || lng === null ? null : { lat, lng }
          return (
            <li key={`${at} ${status}`}>
              <b>{labelOf(status, flow)}</b>
              <time dateTime={at}>{format.since(Date.parse(at))}</time>
              <span className="hint">{by ? <PersonName id={by} /> : t.bySchedule}</span>
              {place && (
                <span className="hint">
                  {placeOf(place)?.name ?? `${place.lat.toFixed(5)}, ${place.lng.toFixed(5)}`}
                </span>
              )}
              {note && <span>{note}</span>}
            </li>
          )
        })}
      </ol>
    </section>
  )
}
