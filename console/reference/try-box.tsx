import { type FormEvent, useId, useState } from 'react'
import { endSession } from '../session.ts'
import { referenceTexts as t } from '../texts/reference.ts'
import { useTexts } from '../texts/texts.tsx'
import type { Operation, Parameter } from './document.ts'
import { newIdempotencyKey, prepare, takesIdempotencyKey, takesKey, type Values } from './requests.ts'

interface Answer {
  status: number
  ms: number
  type: string
  text: string
  blob: Blob
  idempotencyKey: string | null
}

interface Props {
  operation: Operation
  values: Values
  onChange: (values: Values) => void
  /** The token or device key of the request. */
  secret: string | null
  deviceKey: string
  onDeviceKey: (key: string) => void
  /** Called with successful responses, whose identifiers fill other forms. */
  onAnswer: (operation: Operation, body: unknown) => void
}

/** Longer responses are cut off: they would block the page. */
const MAX_SHOWN = 100_000

/** Sends the request and shows the response. */
export function TryBox({ operation, values, onChange, secret, deviceKey, onDeviceKey, onAnswer }: Props) {
  const { errors } = useTexts()
  const [answer, setAnswer] = useState<Answer | null>(null)
  const [failure, setFailure] = useState('')
  const [isBusy, setBusy] = useState(false)
  const entered = operation.parameters.filter(one => one.in !== 'header')
  const setParameter = (name: string, value: string) =>
    onChange({ ...values, parameters: { ...values.parameters, [name]: value } })

  const send = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setFailure('')
    try {
      const { method, url, headers, json, form } = prepare(operation, values, location.origin, secret)
      const idempotencyKey = takesIdempotencyKey(operation) ? newIdempotencyKey() : null
      const startedAt = performance.now()
      const response = await fetch(url, {
        method,
        headers: { ...headers, ...(idempotencyKey && { 'Idempotency-Key': idempotencyKey }) },
        body: form ? toFormData(form) : json === undefined ? undefined : JSON.stringify(json),
      })
      const blob = await response.blob()
      const type = response.headers.get('content-type') ?? ''
      const text = /json|text|xml|csv/.test(type) ? await blob.text() : ''
      const ms = Math.round(performance.now() - startedAt)
      setAnswer({ status: response.status, ms, type, text: pretty(text, type), blob, idempotencyKey })
      if (response.status === 401 && secret !== null && secret !== deviceKey) endSession(secret)
      if (response.ok && type.includes('json')) onAnswer(operation, JSON.parse(text))
    } catch (error) {
      setFailure(error instanceof SyntaxError ? t.badJson : errors.unreachable)
    }
    setBusy(false)
  }
  return (
    <section className="try" aria-label={t.try}>
      <h2>{t.try}</h2>
      <form className="stack" onSubmit={event => void send(event)}>
        {takesKey(operation) && (
          <label className="field">
            <span>{t.deviceKey}</span>
            <input value={deviceKey} onChange={event => onDeviceKey(event.target.value)} autoComplete="off" />
          </label>
        )}
        {entered.map(parameter => (
          <Entry
            key={parameter.name}
            parameter={parameter}
            value={values.parameters[parameter.name] ?? ''}
            onChange={value => setParameter(parameter.name, value)}
          />
        ))}
        {operation.body && (
          <label className="field">
            <span>{operation.body.type === 'multipart/form-data' ? t.fields : t.body}</span>
            <textarea
              value={values.body}
              spellCheck={false}
              rows={Math.min(16, values.body.split('\n').length)}
              onChange={event => onChange({ ...values, body: event.target.value })}
            />
          </label>
        )}
        <button type="submit" className="button primary" disabled={isBusy}>
          {isBusy ? t.sending : t.send}
        </button>
      </form>
      <div aria-live="polite">
        {failure && <p className="trouble">{failure}</p>}
        {answer && !failure && <Answered answer={answer} />}
      </div>
    </section>
  )
}

function Entry(props: { parameter: Parameter; value: string; onChange: (value: string) => void }) {
  const { parameter, value, onChange } = props
  const { name, schema, required, example, style } = parameter
  const id = useId()
  const choices = schema.enum?.map(String) ?? (schema.type === 'boolean' ? ['true', 'false'] : undefined)
  const hint = style === 'deepObject' ? 'key=value' : String(example ?? schema.default ?? '')
  return (
    <div className="field entry">
      <label htmlFor={id}>
        <code>{name}</code>
      </label>
      {choices ? (
        <select id={id} value={value} onChange={event => onChange(event.target.value)}>
          <option value="">{required ? '' : '–'}</option>
          {choices.map(choice => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          value={value}
          required={required ?? false}
          placeholder={hint}
          onChange={event => onChange(event.target.value)}
        />
      )}
    </div>
  )
}

function Answered({ answer }: { answer: Answer }) {
  const { status, ms, type, text, blob, idempotencyKey } = answer
  const save = () => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(blob)
    link.download = 'answer'
    link.click()
    URL.revokeObjectURL(link.href)
  }
  return (
    <div className="answer">
      <p className="answer-head">
        <b className={status < 400 ? 'is-good' : 'is-bad'}>{status}</b>
        <span className="hint">
          {ms} ms, {type || t.empty}
        </span>
      </p>
      {idempotencyKey && (
        <p className="hint">
          Idempotency-Key <code>{idempotencyKey}</code>
        </p>
      )}
      {text !== '' ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what is longer than its box is scrolled by keys
        <pre tabIndex={0}>
          <code>{text.slice(0, MAX_SHOWN)}</code>
        </pre>
      ) : null}
      {(text.length > MAX_SHOWN || (text === '' && blob.size > 0)) && (
        <button type="button" className="button plain" onClick={save}>
          {t.save}
        </button>
      )}
    </div>
  )
}

function toFormData({
  fields,
  fileName,
  file,
}: {
  fields: [string, string][]
  fileName: string
  file: string
}) {
  const form = new FormData()
  for (const [name, value] of fields) form.set(name, value)
  form.set('file', new Blob([`${file}\n`]), fileName)
  return form
}

function pretty(text: string, type: string): string {
  if (!type.includes('json') || text.length > MAX_SHOWN) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
