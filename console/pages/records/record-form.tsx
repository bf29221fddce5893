import '../../styles/pages.css'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { Form } from 'react-aria-components'
import { OwnFailure } from '../../api/failure.ts'
import { useFormErrors } from '../../parts/form-errors.ts'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { ErrorsFromServer } from '../../parts/server-sentence.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { useTexts } from '../../texts/texts.tsx'
import type { RecordDraft } from './record-draft.ts'

interface Props<Whole> {
  /** Of the queries that are read again: `devices`. */
  name: string
  title: string
  onClose: () => void
  draft: RecordDraft<Whole>
  /** Of the record as it is now; absent where the role may not. */
  save?: (now: Whole | null) => Promise<unknown>
  remove?: { ask: string; run: () => Promise<unknown> }
  onSaved?: () => void
  children: ReactNode
  actions?: ReactNode
  /** A question of one of the actions. */
  asked?: ReactNode
}

/** A record in a dialog. */
export function RecordForm<Whole>(props: Props<Whole>) {
  const leaving = useLeaving(props.save !== undefined && props.draft.isChanged, props.onClose)
  return (
    <Modal title={props.title} onClose={leaving.leave}>
      <RecordFields {...props} leaving={leaving} />
    </Modal>
  )
}

/** What was typed does not go without a question. */
export function useLeaving(isChanged: boolean, onClose: () => void) {
  const [isAsking, setAsking] = useState(false)
  const letGo = useUnsaved(isChanged)
  return {
    isAsking,
    leave: () => (isChanged ? setAsking(true) : onClose()),
    stay: () => setAsking(false),
    /** What is typed is saved, or not wanted: whoever goes elsewhere is not asked. */
    letGo,
    close: () => {
      letGo()
      onClose()
    },
  }
}

/** A record as a form: what the server says of a field stands at the field, the rest above the buttons. */
export function RecordFields<Whole>({
  name,
  onClose,
  draft,
  save,
  remove,
  onSaved,
  children,
  actions,
  asked,
  leaving,
}: Omit<Props<Whole>, 'title'> & { leaving: ReturnType<typeof useLeaving> }) {
  const texts = useTexts()
  const queries = useQueryClient()
  const [asking, setAsking] = useState(false)
  const refresh = (what: string[]) => queries.invalidateQueries({ queryKey: [name, ...what] })
  const { form, errors, clear, show, focusFirst } = useFormErrors()
  const saving = useMutation({
    mutationFn: async () => save?.(await draft.agree()),
    onMutate: clear,
    onError: show,
    onSuccess: () => {
      void refresh([])
      leaving.letGo()
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
      leaving.letGo()
      onClose()
    },
  })
  const error = removing.error ?? (errors.hasOthers && !draft.theirs ? saving.error : null)
  // What is said of a field goes when it is changed, and not when it is left: then the button would move under the pointer.
  const [changed, setChanged] = useState<readonly string[]>([])
  const fields = useMemo(
    () => Object.fromEntries(Object.entries(errors.fields).filter(([name]) => !changed.includes(name))),
    [errors, changed],
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
        <ErrorsFromServer value={!(saving.error instanceof OwnFailure)}>{children}</ErrorsFromServer>
      </div>
      {error && <Trouble error={error} isDeed />}
      {draft.theirs && (
        <div className="trouble" role="alert">
          <p>{texts.form.overtaken}</p>
          <ActionButton
            onPress={() => {
              focusFirst()
              clear()
              draft.takeTheirs()
            }}
          >
            {texts.form.takeTheirs}
          </ActionButton>
        </div>
      )}
      {question}
      <div className="row-of-buttons" hidden={Boolean(question)}>
        {save && (
          <ActionButton
            looks="primary"
            type="submit"
            // A browser sends no form of which something is said to be wrong: here that is to be saved all the same.
            formNoValidate={draft.theirs !== null}
            isPending={saving.isPending}
          >
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
