import '../../styles/pages.css'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { Form } from 'react-aria-components'
import { OwnFailure } from '../../api/failure.ts'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { useRefused } from '../../parts/refused.ts'
import { SaidByServer } from '../../parts/said.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { useTexts } from '../../texts/texts.tsx'

interface Props {
  /** Of the queries that are read again: `devices`. */
  name: string
  title: string
  onClose: () => void
  /** Absent where the role may not. */
  save?: () => Promise<unknown>
  remove?: { ask: string; run: () => Promise<unknown> }
  onSaved?: () => void
  children: ReactNode
  actions?: ReactNode
  /** A question of one of the actions. */
  asked?: ReactNode
}

/** A record in a dialog. */
export function RecordForm({ values, ...props }: Props & { values: unknown }) {
  const leaving = useLeaving(props.save && values, props.onClose)
  return (
    <Modal title={props.title} onClose={leaving.leave}>
      <RecordFields {...props} leaving={leaving} />
    </Modal>
  )
}

/** What was typed does not go without a question. */
export function useLeaving(values: unknown, onClose: () => void) {
  const written = JSON.stringify(values)
  const [first] = useState(written)
  const [isAsking, setAsking] = useState(false)
  const isChanged = written !== first
  useUnsaved(isChanged)
  return {
    isAsking,
    leave: () => (isChanged ? setAsking(true) : onClose()),
    stay: () => setAsking(false),
    close: onClose,
  }
}

/** What somebody has changed of it: the rest may be what the role cannot see, and so cannot name again. */
export function changesOf<T extends object>(next: T, before: { [name in keyof T]?: unknown }): Partial<T> {
  const isChanged = ([name, value]: [string, unknown]) =>
    JSON.stringify(value) !== JSON.stringify(before[name as keyof T])
  return Object.fromEntries(Object.entries(next).filter(isChanged)) as Partial<T>
}

/** A record as a form: what the server says of a field stands at the field, the rest above the buttons. */
export function RecordFields({
  name,
  onClose,
  save,
  remove,
  onSaved,
  children,
  actions,
  asked,
  leaving,
}: Omit<Props, 'title'> & { leaving: ReturnType<typeof useLeaving> }) {
  const texts = useTexts()
  const queries = useQueryClient()
  const [asking, setAsking] = useState(false)
  const refresh = (what: string[]) => queries.invalidateQueries({ queryKey: [name, ...what] })
  const { form, refused, clear, place } = useRefused()
  const saving = useMutation({
    mutationFn: async () => save?.(),
    onMutate: clear,
    onError: place,
    onSuccess: () => {
      void refresh([])
      if (onSaved) onSaved()
      else onClose()
    },
  })
  const removing = useMutation({
    mutationFn: async () => remove?.run(),
    onSuccess: () => {
      // The record itself is not there to be read again.
      void refresh(['list'])
      void refresh(['choices'])
      onClose()
    },
  })
  const error = removing.error ?? (refused.isMore ? saving.error : null)
  // What is said of a field goes when it is changed, and not when it is left: then the button would move under the pointer.
  const [changed, setChanged] = useState<readonly string[]>([])
  const fields = useMemo(
    () => Object.fromEntries(Object.entries(refused.fields).filter(([name]) => !changed.includes(name))),
    [refused, changed],
  )
  const question = leaving.isAsking ? (
    <Question
      ask={texts.form.leaveAsk}
      yes={texts.form.leave}
      no={texts.form.stay}
      onYes={leaving.close}
      onNo={leaving.stay}
    />
  ) : asking && remove ? (
    <Question
      ask={remove.ask}
      yes={texts.records.delete}
      isPending={removing.isPending}
      onYes={() => removing.mutate()}
      onNo={() => setAsking(false)}
    />
  ) : (
    asked
  )
  return (
    <Form
      ref={form}
      className="stack"
      validationErrors={fields}
      onSubmit={event => {
        event.preventDefault()
        setChanged([])
        saving.mutate()
      }}
    >
      <div
        className="stack"
        onInput={({ target }) => {
          const { name } = target as HTMLInputElement
          if (fields[name] !== undefined) setChanged([...changed, name])
        }}
      >
        <SaidByServer value={!(saving.error instanceof OwnFailure)}>{children}</SaidByServer>
      </div>
      {error && <Trouble error={error} isDeed />}
      {question}
      <div className="row-of-buttons" hidden={Boolean(question)}>
        {save && (
          <ActionButton looks="primary" type="submit" isPending={saving.isPending}>
            {saving.isPending ? texts.form.saving : texts.form.save}
          </ActionButton>
        )}
        {actions}
        {remove && (
          <ActionButton className="end" looks="quiet" onPress={() => setAsking(true)}>
            {texts.records.delete}
          </ActionButton>
        )}
      </div>
    </Form>
  )
}
