import { Link } from 'react-router'
import { Trouble } from '../../parts/parts.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import { toSample } from '../profiles/samples.ts'
import { type Connection, type ConnectionMessage, useMessages } from './queries.ts'
import { Sentence } from './state.tsx'
import { useConnectionTexts } from './texts.ts'

/** The last messages as they came, each with what became of it. */
export function Messages({ connection }: { connection: Connection }) {
  const texts = useTexts()
  const t = useConnectionTexts()
  const messages = useMessages(connection._id)
  if (messages.error) return <Trouble error={messages.error} onRetry={() => void messages.refetch()} />
  if (!messages.data) return <p className="hint">{texts.loading}</p>
  if (messages.data.length === 0)
    return (
      <div className="empty">
        <p>{t.noMessages}</p>
        <p className="hint">{t.noMessagesHint}</p>
      </div>
    )
  return (
    <ul className="tracker-messages">
      {messages.data.map(message => (
        <li key={message._id}>
          <Message message={message} />
        </li>
      ))}
    </ul>
  )
}

function Message({ message }: { message: ConnectionMessage }) {
  const format = useFormat()
  const t = useConnectionTexts()
  const { receivedAt, topic, query, payload, isCut, outcome } = message
  const time = format.sinceSeconds(Date.parse(receivedAt))
  return (
    <details>
      <summary>
        <time dateTime={receivedAt}>{time}</time>
        <span className="topic">{topic ?? t.noTopic}</span>
        <Outcome outcome={outcome} />
      </summary>
      <div className="stack">
        {outcome.skipped && <Why word={t.skipped}>{outcome.skipped}</Why>}
        {outcome.rejected.map((one, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: reasons of one message never change
          <Why key={index} word={t.rejectedAs}>
            {one.message}
          </Why>
        ))}
        {query !== null && Object.keys(query).length > 0 && (
          <Raw label={t.query}>{JSON.stringify(query, null, 2)}</Raw>
        )}
        {payload === null && query === null ? (
          <p className="hint">{t.hidden}</p>
        ) : (
          <Raw label={t.payload}>{readable(payload ?? '')}</Raw>
        )}
        {isCut && <p className="hint">{t.cut}</p>}
        {payload !== null && (
          <p>
            <Link to={urls.newRecord('tracker-profiles')} state={toSample(message)}>
              {t.useAsSample}
            </Link>
          </p>
        )}
      </div>
    </details>
  )
}

function Why({ word, children }: { word: string; children: string }) {
  return (
    <p>
      {word}: <Sentence>{children}</Sentence>
    </p>
  )
}

/** Says in some words how a message ended. */
function Outcome({ outcome }: Pick<ConnectionMessage, 'outcome'>) {
  const format = useFormat()
  const t = useConnectionTexts()
  const { points, skipped, rejected } = outcome
  if (rejected.length > 0 && rejected.every(({ reason }) => reason === 'unknown-device'))
    return <span className="outcome unknown">{t.ofUnknown}</span>
  if (rejected.length > 0) return <span className="outcome bad">{t.rejectedAs}</span>
  if (points > 0)
    return <span className="outcome stored">{t.pointsStored(points, format.count(points))}</span>
  return <span className="outcome">{skipped === null ? t.nothing : t.skipped}</span>
}

/** JSON in lines; anything else as it came. */
function readable(payload: string): string {
  try {
    return JSON.stringify(JSON.parse(payload), null, 2)
  } catch {
    return payload
  }
}

function Raw({ label, children }: { label: string; children: string }) {
  return (
    <figure className="raw">
      <figcaption className="hint">{label}</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also for somebody without a pointer */}
      <pre tabIndex={0}>{children}</pre>
    </figure>
  )
}
