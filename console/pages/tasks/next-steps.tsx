import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { FieldForm } from '../../parts/field-form.tsx'
import { useEscape } from '../../parts/focus.ts'
import { useFormErrors } from '../../parts/form-errors.ts'
import { ActionButton, Field, Trouble } from '../../parts/parts.tsx'
import { useTexts } from '../../texts/texts.tsx'
import { FieldInput } from '../data/field-input.tsx'
import { draftOf, type FieldDraft, readDraft } from '../data/field-value.ts'
import { stepOf } from './standing.ts'
import type { Flow, Task } from './task.ts'
import { useStatusLabel, useTaskTexts } from './texts.ts'

/** The statuses that a planner sets by giving the task to somebody. */
const BY_ASSIGNING = ['unassigned', 'assigned']

/** The statuses that the flow allows next. One whose step asks for fields opens a form. */
export function NextSteps({ task, flow }: { task: Task; flow: Flow | undefined }) {
  const t = useTaskTexts()
  const labelOf = useStatusLabel()
  const [status, setStatus] = useState<string | null>(null)
  const next = (stepOf(flow, task.status)?.next ?? []).filter(one => !BY_ASSIGNING.includes(one))
  if (next.length === 0) return null
  return (
    <section className="stack-small">
      <h3>{t.next}</h3>
      {status !== null && next.includes(status) ? (
        <StepForm key={status} task={task} flow={flow} status={status} onDone={() => setStatus(null)} />
      ) : (
        <div className="row-of-buttons">
          {next.map(one => (
            <ActionButton key={one} onPress={() => setStatus(one)}>
              {labelOf(one, flow)}
            </ActionButton>
          ))}
        </div>
      )}
    </section>
  )
}

function StepForm(props: { task: Task; flow: Flow | undefined; status: string; onDone: () => void }) {
  const { task, flow, status, onDone } = props
  const texts = useTexts()
  const t = useTaskTexts()
  const queries = useQueryClient()
  const labelOf = useStatusLabel()
  const fields = stepOf(flow, status)?.fields ?? []
  const [note, setNote] = useState('')
  const [values, setValues] = useState<Record<string, FieldDraft>>(() =>
    Object.fromEntries(fields.map(field => [field.key, draftOf(field, task.content[field.key])])),
  )
  const state = useFormErrors()
  const { errors, clear, show } = state
  useEscape(onDone)
  const move = useMutation({
    mutationFn: () => {
      const given = fields.map(field => [field.key, readDraft(field, values[field.key] ?? '')] as const)
      const body = {
        status,
        ...(note.trim() !== '' && { note }),
        fields: Object.fromEntries(given.filter(([, value]) => value !== null)),
      }
      return answered(api.POST('/api/v3/task/{id}/status', { params: { path: { id: task._id } }, body }))
    },
    onMutate: clear,
    onError: show,
    onSuccess: ({ data }) => {
      queries.setQueryData(['tasks', task._id], data)
      void queries.invalidateQueries({ queryKey: ['tasks', 'day'] })
      onDone()
    },
  })
  return (
    <FieldForm state={state} className="stack" onSubmit={() => move.mutate()}>
      {fields.map(field => (
        <FieldInput
          key={field.key}
          field={field}
          name={`fields.${field.key}`}
          value={values[field.key] ?? ''}
          onChange={value => setValues({ ...values, [field.key]: value })}
        />
      ))}
      <Field
        label={`${t.note} (${texts.form.optional})`}
        name="note"
        value={note}
        onChange={setNote}
        maxLength={2_000}
        autoFocus={fields.length === 0}
      />
      {move.error && errors.hasOthers && <Trouble error={move.error} isDeed />}
      <div className="row-of-buttons">
        <ActionButton looks="primary" type="submit" isPending={move.isPending}>
          {t.set(labelOf(status, flow))}
        </ActionButton>
        <ActionButton onPress={onDone}>{texts.form.cancel}</ActionButton>
      </div>
    </FieldForm>
  )
}
