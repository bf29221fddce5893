import '../../styles/pages.css'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { FieldForm } from '../../parts/field-form.tsx'
import { useFormErrors } from '../../parts/form-errors.ts'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { useTexts } from '../../texts/texts.tsx'
import type { RecordDraft } from './record-draft.ts'

interface Props<Whole> {
  /** The kind, whose queries are read again: `devices`. */
  name: string
  title: string
  wide?: boolean
  onClose: () => void
  draft: RecordDraft<Whole>
  /** Gets the current record; absent when the role may not save. */
  save?: (now: Whole | null) => Promise<unknown>
  remove?: { ask: string; run: () => Promise<unknown> }
  /** Looks for a reason to ask before saving. */
  askBefore?: () => Promise<{ ask: string; yes: string } | null>
  onSaved?: () => void
  children: ReactNode
  actions?: ReactNode
  /** The question of one of the actions. */
  asked?: ReactNode
}

/** A record's form in a dialog. */
export function RecordForm<Whole>(props: Props<Whole>) {
  const leaving = useLeaving(props.save !== undefined && props.draft.isChanged, props.onClose)
  return (
    <Modal title={props.title} onClose={leaving.leave} {...(props.wide && { wide: true })}>
      <RecordFields {...props} leaving={leaving} />
    </Modal>
  )
}

/** Asks before a form with unsaved input is closed. */
export function useLeaving(isChanged: boolean, onClose: () => void) {
  const [isAsking, setAsking] = useState(false)
  const letGo = useUnsaved(isChanged)
  return {
    isAsking,
    leave: () => (isChanged ? setAsking(true) : onClose()),
    stay: () => setAsking(false),
    /** Releases the input, which is saved or discarded: navigation no longer asks. */
    letGo,
    close: () => {
      letGo()
      onClose()
    },
  }
}

/** The form of a record. An error about a field stands at the field, all others above the buttons. */
export function RecordFields<Whole>({
  name,
  onClose,
  draft,
  save,
  remove,
  askBefore,
  onSaved,
  children,
  actions,
  asked,
  leaving,
}: Omit<Props<Whole>, 'title' | 'wide'> & { leaving: ReturnType<typeof useLeaving> }) {
  const texts = useTexts()
  const queries = useQueryClient()
  const [asking, setAsking] = useState(false)
  /** The question that has to be answered before the record is saved. */
  const [doubt, setDoubt] = useState<{ ask: string; yes: string } | null>(null)
  const refresh = (what: string[]) => queries.invalidateQueries({ queryKey: [name, ...what] })
  const state = useFormErrors()
  const { errors, clear, show, focusFirst } = state
  const saving = useMutation({
    mutationFn: async ({ isConfirmed }: { isConfirmed: boolean }) => {
      const question = isConfirmed ? null : await askBefore?.()
      if (!question) await save?.(await draft.agree())
      return question
    },
    onMutate: clear,
    onError: error => {
      setDoubt(null)
      show(error)
    },
    onSuccess: question => {
      if (question) return setDoubt(question)
      void refresh([])
      leaving.letGo()
      if (onSaved) onSaved()
      else onClose()
    },
  })
  const removing = useMutation({
    mutationFn: async () => remove?.run(),
    onSuccess: () => {
      // The record itself is deleted and cannot be read again.
      void refresh(['list'])
      void refresh(['choices'])
      leaving.letGo()
      onClose()
    },
  })
  const error = removing.error ?? (errors.hasOthers && !draft.theirs ? saving.error : null)
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
  ) : doubt ? (
    <Question
      {...doubt}
      isPending={saving.isPending}
      onYes={() => saving.mutate({ isConfirmed: true })}
      onNo={() => setDoubt(null)}
    />
  ) : (
    asked
  )
  return (
    <FieldForm state={state} className="stack" onSubmit={() => saving.mutate({ isConfirmed: false })}>
      <div className="stack">{children}</div>
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
            // A browser does not submit a form with invalid fields. Here it must, to keep this version.
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
    </FieldForm>
  )
}
