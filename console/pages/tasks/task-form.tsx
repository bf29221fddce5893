import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { Failure } from '../../api/failure.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { serverNow } from '../../clock.ts'
import { ChooseRecord } from '../../parts/choose-record.tsx'
import { stepDay } from '../../parts/days.ts'
import { ActionButton, Choose, Field } from '../../parts/parts.tsx'
import { TimeChoice } from '../../parts/time-choice.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { ChooseData } from '../data/choose-data.tsx'
import { FieldInput } from '../data/field-input.tsx'
import { draftOf } from '../data/field-value.ts'
import { placeOf } from '../place-draft.ts'
import { PlaceField } from '../place-field.tsx'
import { useRecordDraft } from '../records/record-draft.ts'
import { RecordForm } from '../records/record-form.tsx'
import { ChoosePerson } from './choose-person.tsx'
import type { Flow, Task } from './task.ts'
import { changedContent, contentFields, firstWindow, valuesOf } from './task-draft.ts'
import { readTask, useFlows } from './task-queries.ts'
import { useTaskTexts } from './texts.ts'

interface Props {
  /** Null for a new task. */
  id: string | null
  /** The day of a new one. */
  day: string
  onClose: () => void
  onSaved: (taskId: string) => void
}

/** The form of a task, once everything is there that it shows. */
export function TaskForm({ id, ...rest }: Props) {
  const { may } = useWorkspace()
  const flows = useFlows()
  const { data: task } = useQuery({
    queryKey: ['tasks', id],
    enabled: id !== null,
    queryFn: () => readTask(id ?? ''),
  })
  if ((id !== null && !task) || (may('view/flow') && flows.length === 0)) return null
  return <Loaded key={id} task={task ?? null} flows={flows} {...rest} />
}

const path = (id: string) => ({ params: { path: { id } } })

function Loaded({
  task,
  flows,
  day,
  onClose,
  onSaved,
}: Omit<Props, 'id'> & { task: Task | null; flows: Flow[] }) {
  const texts = useTexts()
  const t = useTaskTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const [window] = useState(() =>
    firstWindow({ from: format.startOf(day), to: format.startOf(stepDay(day, 1)) }, serverNow()),
  )
  const draft = useRecordDraft(task, valuesOf(flows, window), readTask)
  const { values, field, set, first } = draft
  const savedId = useRef('')
  const flow = flows.find(({ _id }) => _id === values.flowId) ?? flows.find(({ isDefault }) => isDefault)
  const save = async () => {
    check()
    const { location, startTime, endTime } = values
    const body = {
      name: values.name,
      dataIds: values.dataIds,
      hubId: values.hubId || null,
      teamId: values.teamId || null,
      assigneeId: values.assigneeId || null,
      vehicleId: values.vehicleId || null,
      location: placeOf(location),
      startTime: startTime || null,
      endTime: endTime || null,
    }
    const content = changedContent(values, first, flow)
    const flowId = values.flowId ? { flowId: values.flowId } : {}
    const saved = task
      ? await answered(
          api.PATCH('/api/v3/task/{id}', { ...path(task._id), body: { ...draft.changesOf(body), content } }),
        )
      : await answered(api.POST('/api/v3/task', { body: { ...body, ...flowId, content } }))
    savedId.current = saved.data._id
  }
  /** Throws at the field what the server would not say in these words. */
  const check = () => {
    const { location, startTime, endTime } = values
    const refuse = (path: string, message: string) => {
      throw new Failure(400, { message }, [{ path, message }])
    }
    if (location.lat === null && location.address.trim() !== '') refuse('location', t.placeless)
    if (startTime && endTime && endTime <= startTime) refuse('endTime', t.endBeforeStart)
  }
  return (
    <RecordForm
      name="tasks"
      title={task?.name ?? texts.kinds.tasks.create}
      draft={draft}
      onClose={onClose}
      onSaved={() => onSaved(savedId.current)}
      wide
      save={may(task ? 'update/task' : 'create/task') ? save : undefined}
    >
      <Field label={texts.records.name} {...field('name')} isRequired autoFocus={!task} />
      <div className="two">
        <TimeChoice label={t.start} {...field('startTime')} />
        <TimeChoice label={t.end} {...field('endTime')} />
      </div>
      {values.startTime === '' && <p className="hint">{t.startHint}</p>}
      <PlaceField label={t.place} {...field('location')} />
      <div className="two">
        <ChoosePerson label={t.assignee} {...field('assigneeId')} />
        {may('view/vehicle') && <ChooseRecord kind="vehicles" label={t.vehicle} {...field('vehicleId')} />}
        {may('view/team') && <ChooseRecord kind="teams" label={t.team} {...field('teamId')} />}
        {may('view/hub') && <ChooseRecord kind="hubs" label={texts.subject.hub} {...field('hubId')} />}
      </div>
      {may('view/data') && <ChooseData label={t.records} {...field('dataIds')} />}
      {!task && flows.length > 1 && (
        <Choose
          label={t.flow}
          {...field('flowId')}
          choices={[{ id: '', name: t.usualFlow }, ...flows.map(({ _id, name }) => ({ id: _id, name }))]}
        />
      )}
      <Content values={values.content} flow={flow} onChange={set('content')} />
    </RecordForm>
  )
}

function Content(props: {
  values: ReturnType<ReturnType<typeof valuesOf>>['content']
  flow: Flow | undefined
  onChange: (values: ReturnType<ReturnType<typeof valuesOf>>['content']) => void
}) {
  const { values, flow, onChange } = props
  const t = useTaskTexts()
  const [key, setKey] = useState('')
  const name = key.trim().replace(/[^A-Za-z0-9_]+/g, '_')
  const isNew = /^[A-Za-z]/.test(name) && !Object.hasOwn(values, name)
  return (
    <details className="more-fields" open={Object.values(values).some(value => value !== '') || undefined}>
      <summary>{t.content}</summary>
      <div className="stack">
        {contentFields(flow, values).map(field => (
          <FieldInput
            key={field.key}
            field={field}
            name={`content.${field.key}`}
            value={values[field.key] ?? draftOf(field, undefined)}
            onChange={value => onChange({ ...values, [field.key]: value })}
          />
        ))}
        <div className="add-value">
          <Field label={t.key} value={key} onChange={setKey} maxLength={100} />
          <ActionButton
            icon="plus"
            isDisabled={!isNew}
            onPress={() => {
              onChange({ ...values, [name]: '' })
              setKey('')
            }}
          >
            {t.addValue}
          </ActionButton>
        </div>
      </div>
    </details>
  )
}
