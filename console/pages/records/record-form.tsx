import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { Form } from 'react-aria-components'
import { Failure } from '../../api/failure.ts'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
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
}

const NOTHING: Record<string, string> = {}

/** A record in a dialog. */
export function RecordForm(props: Props) {
  return (
    <Modal title={props.title} onClose={props.onClose}>
      <RecordFields {...props} />
    </Modal>
  )
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
}: Omit<Props, 'title'>) {
  const texts = useTexts()
  const queries = useQueryClient()
  const [asking, setAsking] = useState(false)
  const refresh = (what: string[]) => queries.invalidateQueries({ queryKey: [name, ...what] })
  const saving = useMutation({
    mutationFn: async () => save?.(),
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
  const said = saving.error instanceof Failure ? saving.error.fields : NOTHING
  const error = removing.error ?? (Object.keys(said).length > 0 ? null : saving.error)
  // What is said of a field goes when it is changed, and not when it is left: then the button would move under the pointer.
  const [changed, setChanged] = useState<readonly string[]>([])
  const fields = useMemo(
    () => Object.fromEntries(Object.entries(said).filter(([name]) => !changed.includes(name))),
    [said, changed],
  )
  return (
    <Form
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
        {children}
      </div>
      {error && <Trouble error={error} />}
      {asking && remove ? (
        <div className="stack" role="alert">
          <p>{remove.ask}</p>
          <div className="row-of-buttons">
            <ActionButton looks="danger" isPending={removing.isPending} onPress={() => removing.mutate()}>
              {texts.records.delete}
            </ActionButton>
            <ActionButton onPress={() => setAsking(false)}>{texts.form.cancel}</ActionButton>
          </div>
        </div>
      ) : (
        <div className="row-of-buttons">
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
      )}
    </Form>
  )
}
