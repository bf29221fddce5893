import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { answered, api } from '../../../api/client.ts'
import { Modal } from '../../../parts/modal.tsx'
import { ActionButton, Field, Trouble } from '../../../parts/parts.tsx'
import { signOut } from '../../../shell/session-actions.ts'
import { organizationTexts as de } from '../../../texts/de/organization.ts'
import { organizationTexts as en } from '../../../texts/en/organization.ts'
import { useOwnTexts } from '../../../texts/texts.tsx'

const TEXTS = { en, de }

/** Deletes the organization, once its name was typed. */
export function EndOrganization({ name }: { name: string }) {
  const t = useOwnTexts(TEXTS)
  const [isAsking, setAsking] = useState(false)
  const [typed, setTyped] = useState('')
  const end = useMutation({
    mutationFn: () => answered(api.DELETE('/api/v3/organization')),
    onSuccess: signOut,
  })
  return (
    <section className="sheet stack" aria-labelledby="end">
      <h2 id="end">{t.end}</h2>
      <p className="hint">{t.endLead}</p>
      <div className="row-of-buttons">
        <ActionButton onPress={() => setAsking(true)}>{t.end}</ActionButton>
      </div>
      {isAsking && (
        <Modal title={t.end} onClose={() => setAsking(false)}>
          <Form
            className="stack"
            onSubmit={event => {
              event.preventDefault()
              if (typed.trim() === name) end.mutate()
            }}
          >
            <p>{t.endLead}</p>
            <Field label={t.endType(name)} value={typed} onChange={setTyped} autoComplete="off" autoFocus />
            {end.error && <Trouble error={end.error} isDeed />}
            <div className="row-of-buttons">
              <ActionButton
                looks="danger"
                type="submit"
                isDisabled={typed.trim() !== name}
                isPending={end.isPending}
              >
                {t.end}
              </ActionButton>
            </div>
          </Form>
        </Modal>
      )}
    </section>
  )
}
