import { useDeferredValue, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { Logo } from '../parts/logo.tsx'
import { referenceTexts as t } from '../texts/reference.ts'
import { useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'
import { AccountBox, useAccount } from './account.tsx'
import { type Document, type Group, listGroups, type Operation, searchGroups } from './document.ts'
import { OperationPage } from './operation-page.tsx'
import { Prose } from './prose.tsx'

const RETRY_MS = 3_000
/** The first steps of an integration, by operation. */
const FIRST_STEPS = ['postAuthLogin', 'postDevice', 'postLocationHistoryBulk', 'getLive'] as const

const onHash = (listener: () => void) => {
  window.addEventListener('hashchange', listener)
  return () => window.removeEventListener('hashchange', listener)
}
const readHash = () => location.hash.slice(1)

/** The API reference. */
export function Reference() {
  const { loading } = useTexts()
  const [document, setDocument] = useState<Document | null>(null)
  const [failed, setFailed] = useState(false)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      try {
        const answer = await fetch('/api/v3/openapi.json')
        if (!answer.ok) throw new Error(String(answer.status))
        setDocument((await answer.json()) as Document)
      } catch {
        setFailed(true)
        timer = setTimeout(() => void read(), RETRY_MS)
      }
    }
    void read()
    return () => clearTimeout(timer)
  }, [])
  if (document) return <Loaded document={document} />
  return (
    <main className="middle" aria-busy={!failed}>
      <h1>{t.title}</h1>
      <p className="hint">{failed ? t.failed : loading}</p>
    </main>
  )
}

function Loaded({ document }: { document: Document }) {
  const account = useAccount()
  const hash = useSyncExternalStore(onHash, readHash)
  const content = useRef<HTMLElement>(null)
  const groups = useMemo(() => listGroups(document), [document])
  const [deviceKey, setDeviceKey] = useState('')
  const [made, setMade] = useState<{ [kind: string]: string }>({})
  const current = groups.flatMap(({ operations }) => operations).find(({ id }) => id === hash)

  // Records that are created here fill the forms of the next steps.
  const onAnswer = ({ method, path }: Operation, body: unknown) => {
    const { data } = (body ?? {}) as { data?: { _id?: unknown; key?: unknown } }
    if (method !== 'POST' || typeof data?._id !== 'string') return
    const kind = path.split('/{')[0]?.split('/').at(-1) ?? ''
    setMade(now => ({ ...now, [kind]: data._id as string }))
    if (typeof data.key === 'string') setDeviceKey(data.key)
  }
  return (
    <div className="reference">
      {/* A button, as a link would change the hash, which names the open operation. */}
      <button type="button" className="skip" onClick={() => content.current?.focus()}>
        {t.skip}
      </button>
      <Contents groups={groups} current={current} account={<AccountBox account={account} />} />
      <main className="reference-main" id="content" ref={content} tabIndex={-1}>
        {current ? (
          <OperationPage
            key={current.id}
            document={document}
            operation={current}
            account={account}
            deviceKey={deviceKey}
            onDeviceKey={setDeviceKey}
            made={made}
            onAnswer={onAnswer}
          />
        ) : (
          <Overview document={document} groups={groups} />
        )}
      </main>
    </div>
  )
}

interface ContentsProps {
  groups: Group[]
  current: Operation | undefined
  account: React.ReactNode
}

function Contents({ groups, current, account }: ContentsProps) {
  const { product } = useTexts()
  const [query, setQuery] = useState('')
  const [isOpen, setOpen] = useState(false)
  const found = searchGroups(groups, useDeferredValue(query))
  const isSearching = query.trim() !== ''
  const count = found.reduce((sum, { operations }) => sum + operations.length, 0)
  return (
    <header className={isOpen ? 'contents open' : 'contents'}>
      <div className="contents-top">
        <a className="home" href="#overview">
          <Logo />
          <span>
            {product} <b>{t.title}</b>
          </span>
        </a>
        <button
          type="button"
          className="button plain phone-only"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {t.contents}
        </button>
      </div>
      <div className="contents-rest">
        {account}
        <input
          type="search"
          className="contents-search"
          aria-label={t.search}
          placeholder={t.search}
          value={query}
          onChange={event => setQuery(event.target.value)}
        />
        <p className={isSearching ? 'hint' : 'unseen'} role="status">
          {isSearching ? t.found(count) : ''}
        </p>
        <nav aria-label={t.contents}>
          {found.map(({ name, description, operations }) => (
            <details key={name} open={isSearching || current?.group === name || undefined}>
              <summary title={description}>{name}</summary>
              <ul>
                {operations.map(({ id, method, summary }) => (
                  <li key={id}>
                    <a
                      href={`#${id}`}
                      aria-current={id === current?.id ? 'page' : undefined}
                      onClick={() => setOpen(false)}
                    >
                      <span className={`method ${method.toLowerCase()}`}>{method}</span>
                      <span>{summary}</span>
                    </a>
                  </li>
                ))}
              </ul>
            </details>
          ))}
        </nav>
        <p className="contents-end">
          <a href={urls.map}>{t.toConsole}</a> <a href="/api/v3/openapi.json">openapi.json</a>
        </p>
      </div>
    </header>
  )
}

/** The start page: the way from signing in to seeing something move, and the rules for all operations. */
function Overview({ document, groups }: { document: Document; groups: Group[] }) {
  const { product } = useTexts()
  const operations = new Map(groups.flatMap(group => group.operations).map(one => [one.id, one]))
  return (
    <article className="operation overview">
      <title>{`${t.title} · ${product}`}</title>
      <h1>{t.title}</h1>
      <ol className="steps">
        {FIRST_STEPS.map((id, index) => (
          <li key={id}>
            <a href={`#${id}`}>{t.steps[index]}</a>
            <code>
              {operations.get(id)?.method} {operations.get(id)?.path.replace('/api/v3', '')}
            </code>
          </li>
        ))}
      </ol>
      <Prose text={document.info.description} />
      <h2>{t.contents}</h2>
      <dl className="groups">
        {groups.map(({ name, description, operations: [first] }) => (
          <div key={name}>
            <dt>
              <a href={`#${first?.id}`}>{name}</a>
            </dt>
            <dd>{description}</dd>
          </div>
        ))}
      </dl>
    </article>
  )
}
