import { useEffect, useRef, useState } from 'react'
import { referenceTexts as t } from '../texts/reference.ts'
import { useTexts } from '../texts/texts.tsx'
import type { Account } from './account.tsx'
import type { Document, Operation } from './document.ts'
import { Fields, fieldsOf } from './fields.tsx'
import { Prose } from './prose.tsx'
import { exampleValues, takesKey, type Values } from './requests.ts'
import { SampleBox } from './sample-box.tsx'
import { TryBox } from './try-box.tsx'

interface Props {
  document: Document
  operation: Operation
  account: Account | null
  deviceKey: string
  onDeviceKey: (key: string) => void
  /** Identifiers of the records that were created on this page, by kind: `device`. */
  made: { [kind: string]: string }
  onAnswer: (operation: Operation, body: unknown) => void
}

/** An operation's documentation, and a form to try it. */
export function OperationPage(props: Props) {
  const { document, operation, account, deviceKey, onDeviceKey, made, onAnswer } = props
  const { product } = useTexts()
  const [values, setValues] = useState<Values>(() => fillIn(operation, made))
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    heading.current?.focus({ preventScroll: true })
    window.scrollTo(0, 0)
  }, [])
  const { method, path, summary, description, permission, parameters, body, answers } = operation
  const secret =
    (takesKey(operation) && deviceKey) || (permission === 'device' ? null : (account?.token ?? null))
  const good = answers.filter(({ status }) => /^[12]/.test(status))
  const bad = answers.filter(({ status }) => !/^[12]/.test(status))
  const places = [
    ['path', t.inPath],
    ['query', t.inQuery],
    ['header', t.inHeader],
  ] as const
  return (
    <>
      <article className="operation">
        <title>{`${summary} · ${product}`}</title>
        <h1 ref={heading} tabIndex={-1}>
          {summary}
        </h1>
        <p className="address">
          <span className={`method ${method.toLowerCase()}`}>{method}</span>
          <code>{path}</code>
        </p>
        <p className="permission">
          <Permission permission={permission} account={account} />
        </p>
        <Prose text={description} />
        {places.map(([place, title]) => {
          const fields = parameters.filter(one => one.in === place)
          if (fields.length === 0) return null
          return (
            <section key={place}>
              <h2>{title}</h2>
              <Fields
                document={document}
                fields={fields.map(({ name, schema, required, description }) => ({
                  name,
                  schema,
                  isRequired: required ?? false,
                  description,
                }))}
              />
            </section>
          )
        })}
        {body?.schema && (
          <section>
            <h2>
              {t.body} <code>{body.type}</code>
            </h2>
            <Fields document={document} fields={fieldsOf(body.schema, document)} />
          </section>
        )}
        <section>
          <h2>{t.answers}</h2>
          {good.map(({ status, description, types, body }) => (
            <details key={status} className="answer-of">
              <summary>
                <b className="is-good">{status}</b> <span>{description}</span>{' '}
                <span className="hint">{types.map(type => type.split(';')[0]).join(', ')}</span>
              </summary>
              {body?.schema && <Fields document={document} fields={fieldsOf(body.schema, document)} />}
              {body?.example !== undefined && (
                // biome-ignore lint/a11y/noNoninteractiveTabindex: what is longer than its box is scrolled by keys
                <pre tabIndex={0}>
                  <code>
                    {typeof body.example === 'string' ? body.example : JSON.stringify(body.example, null, 2)}
                  </code>
                </pre>
              )}
            </details>
          ))}
          <dl className="failures">
            {bad.map(({ status, description }) => (
              <div key={status}>
                <dt>{status}</dt>
                <dd>{description}</dd>
              </div>
            ))}
          </dl>
        </section>
      </article>
      {permission !== null && (
        <div className="beside">
          <SampleBox operation={operation} values={values} secret={secret} />
          {!operation.isSocket && (
            <TryBox
              operation={operation}
              values={values}
              onChange={setValues}
              secret={secret}
              deviceKey={deviceKey}
              onDeviceKey={onDeviceKey}
              onAnswer={onAnswer}
            />
          )}
        </div>
      )}
    </>
  )
}

/** The permission that the caller needs, and whether the signed-in account has it. */
function Permission({ permission, account }: { permission: string | null; account: Account | null }) {
  const words = { public: t.needsNothing, session: t.needsSession, device: t.needsKey }
  if (permission === null) return t.isEvent
  if (permission in words) return words[permission as keyof typeof words]
  const known = account !== null && account.permissions.size > 0
  const has = known && account.permissions.has(permission)
  return (
    <>
      {t.needs} <code>{permission}</code>
      {known && <span className={has ? 'is-good' : 'is-bad'}> {has ? t.hasIt : t.lacksIt}</span>}
    </>
  )
}

/** The examples, with the identifiers of records that were created here: `/device/{id}` gets the device's. */
function fillIn(operation: Operation, made: { [kind: string]: string }): Values {
  const values = exampleValues(operation)
  for (const { name, in: place } of operation.parameters) {
    const kind =
      place === 'path'
        ? operation.path.split(`/{${name}}`)[0]?.split('/').at(-1)
        : place === 'query' && /Id$/.test(name)
          ? name.slice(0, -2)
          : undefined
    const id = kind && made[kind]
    if (id) values.parameters[name] = id
  }
  return values
}
