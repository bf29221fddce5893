import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { answered, api } from '../../api/client.ts'
import { ME, useWorkspace } from '../../api/workspace.ts'
import { useFieldTexts, useFormErrors } from '../../parts/form-errors.ts'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Field, Trouble } from '../../parts/parts.tsx'
import { RecoveryCodes, SecondFactorSetup } from '../../shell/second-factor-setup.tsx'
import { secondFactorTexts as de } from '../../texts/de/second-factor.ts'
import { secondFactorTexts as en } from '../../texts/en/second-factor.ts'
import { useOwnTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }
/** With fewer recovery codes it is time for new ones. */
const FEW = 3

/** The second factor of the own account: sets it up, or removes it. */
export function SecondFactor() {
  const t = useOwnTexts(TEXTS)
  const queries = useQueryClient()
  const { secondFactor } = useWorkspace().user
  const [open, setOpen] = useState<'setup' | 'removal'>()
  const [codes, setCodes] = useState<string[]>()
  const close = () => {
    setOpen(undefined)
    setCodes(undefined)
    void queries.invalidateQueries({ queryKey: ME })
  }
  const isOn = secondFactor?.isOn === true
  const left = secondFactor?.recoveryCodesLeft ?? 0
  return (
    <section className="sheet stack" aria-labelledby="second-factor">
      <h2 id="second-factor">
        {t.title} {isOn && <span className="tag">{t.isOn}</span>}
      </h2>
      <p className="hint">{isOn ? t.onLead : t.offLead}</p>
      {isOn && (
        <p className={left < FEW ? 'note' : 'hint'}>
          {t.left(left)} {left < FEW && t.few}
        </p>
      )}
      <div className="row-of-buttons">
        {isOn ? (
          <ActionButton onPress={() => setOpen('removal')}>{t.remove}</ActionButton>
        ) : (
          <ActionButton onPress={() => setOpen('setup')}>{t.setUp}</ActionButton>
        )}
      </div>
      {open === 'setup' && !codes && (
        <Modal title={t.setUp} onClose={close}>
          <SecondFactorSetup onCodes={setCodes} />
        </Modal>
      )}
      {codes && (
        <Modal title={t.codes} onClose={close} isKept hasDone>
          <RecoveryCodes codes={codes} />
        </Modal>
      )}
      {open === 'removal' && <Removal onClose={close} />}
    </section>
  )
}

const EMPTY = { password: '', code: '' }

function Removal({ onClose }: { onClose: () => void }) {
  const t = useOwnTexts(TEXTS)
  const { form, errors, clear, show } = useFormErrors()
  const fieldTexts = useFieldTexts(errors.fields)
  const [values, setValues] = useState(EMPTY)
  const remove = useMutation({
    mutationFn: () => answered(api.DELETE('/api/v3/auth/totp', { body: values })),
    onMutate: clear,
    onError: show,
    onSuccess: onClose,
  })
  const wrong = {
    ...fieldTexts,
    ...(fieldTexts.password && { password: t.wrongPassword }),
    ...(fieldTexts.code && { code: t.wrongAnyCode }),
  }
  const field = (name: keyof typeof EMPTY) => ({
    name,
    value: values[name],
    onChange: (value: string) => setValues({ ...values, [name]: value }),
  })
  return (
    <Modal title={t.removeTitle} onClose={onClose}>
      <Form
        ref={form}
        className="stack"
        validationErrors={wrong}
        onSubmit={event => {
          event.preventDefault()
          remove.mutate()
        }}
      >
        <p>{t.removeLead}</p>
        <Field
          label={t.password}
          type="password"
          autoComplete="current-password"
          {...field('password')}
          isRequired
          autoFocus
        />
        <Field label={t.anyCode} autoComplete="one-time-code" maxLength={40} {...field('code')} isRequired />
        {errors.hasOthers && <Trouble error={remove.error} isDeed />}
        <div className="row-of-buttons">
          <ActionButton looks="danger" type="submit" isPending={remove.isPending}>
            {t.remove}
          </ActionButton>
        </div>
      </Form>
    </Modal>
  )
}
