import '../styles/second-factor.css'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Form } from 'react-aria-components'
import { renderSVG } from 'uqr'
import { answered, api } from '../api/client.ts'
import { useFieldTexts, useFormErrors } from '../parts/form-errors.ts'
import { ActionButton, Copyable, Field, Trouble } from '../parts/parts.tsx'
import { saveFile } from '../parts/save-file.ts'
import { secondFactorTexts as de } from '../texts/de/second-factor.ts'
import { secondFactorTexts as en } from '../texts/en/second-factor.ts'
import { useOwnTexts, useTexts } from '../texts/texts.tsx'

const TEXTS = { en, de }

/** The key as a picture and as text, and the first code of the app. `onCodes` gets the recovery codes. */
export function SecondFactorSetup({ onCodes }: { onCodes: (codes: string[]) => void }) {
  const t = useOwnTexts(TEXTS)
  const { form, errors, clear, show } = useFormErrors()
  const fieldTexts = useFieldTexts(errors.fields)
  const [code, setCode] = useState('')
  const begin = useMutation({
    mutationFn: async () => (await answered(api.POST('/api/v3/auth/totp'))).data,
  })
  const { mutate } = begin
  useEffect(() => mutate(), [mutate])
  const confirm = useMutation({
    mutationFn: async () => (await answered(api.POST('/api/v3/auth/totp/confirm', { body: { code } }))).data,
    onMutate: clear,
    onError: show,
    onSuccess: ({ recoveryCodes }) => onCodes(recoveryCodes),
  })
  if (begin.error) return <Trouble error={begin.error} onRetry={() => mutate()} />
  if (!begin.data) return <p className="hint" aria-busy="true" />
  const { secret, uri } = begin.data
  return (
    <Form
      ref={form}
      className="factor-setup"
      validationErrors={fieldTexts.code ? { code: t.wrongCode } : fieldTexts}
      onSubmit={event => {
        event.preventDefault()
        confirm.mutate()
      }}
    >
      <p>{t.scanLead}</p>
      <div
        className="factor-qr"
        role="img"
        aria-label={t.scan}
        // biome-ignore lint/security/noDangerouslySetInnerHtml: squares of our own making, whatever the address says
        dangerouslySetInnerHTML={{ __html: renderSVG(uri) }}
      />
      <div className="factor-key">
        <p className="hint">{t.key}</p>
        <Copyable value={secret} label={t.key}>
          {secret.replace(/(.{4})(?=.)/g, '$1 ')}
        </Copyable>
      </div>
      <a className="button plain phone-only" href={uri}>
        {t.open}
      </a>
      <p>{t.codeLead}</p>
      <Field
        label={t.code}
        name="code"
        value={code}
        onChange={setCode}
        inputMode="numeric"
        autoComplete="one-time-code"
        maxLength={40}
        isRequired
      />
      {errors.hasOthers && <Trouble error={confirm.error} isDeed />}
      <div className="row-of-buttons">
        <ActionButton looks="primary" type="submit" isPending={confirm.isPending}>
          {t.confirm}
        </ActionButton>
      </div>
    </Form>
  )
}

/** The recovery codes, which are shown once: to be copied, saved or written down. */
export function RecoveryCodes({ codes }: { codes: readonly string[] }) {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const text = codes.join('\n')
  return (
    <div className="factor-setup">
      <p className="note">{t.codesLead}</p>
      <ul className="recovery-codes" aria-label={t.codes}>
        {codes.map(code => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div className="row-of-buttons">
        <Copyable value={text} label={t.codes} autoFocus>
          {t.copyAll}
        </Copyable>
        <ActionButton
          icon="download"
          onPress={() =>
            saveFile(new Blob([`${texts.product}\n\n${text}\n`], { type: 'text/plain' }), t.file)
          }
        >
          {t.download}
        </ActionButton>
      </div>
    </div>
  )
}
