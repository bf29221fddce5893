import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { isMissing } from '../../api/failure.ts'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { accountTexts as de } from '../../texts/de/account.ts'
import { accountTexts as en } from '../../texts/en/account.ts'
import { useFormat, useOwnTexts, useTexts } from '../../texts/texts.tsx'
import { readUserAgent } from './user-agent.ts'

const TEXTS = { en, de }

type Session = Awaited<ReturnType<typeof readSessions>>[number]

const readSessions = async () => (await answered(api.GET('/api/v3/auth/sessions'))).data

export const useSessions = () => useQuery({ queryKey: ['sessions'], queryFn: readSessions })

/** Ends sessions one after the other. One that has ended meanwhile is no failure. */
async function end(sessions: readonly Session[]): Promise<void> {
  for (const { _id } of sessions) {
    await answered(api.DELETE('/api/v3/auth/session/{id}', { params: { path: { id: _id } } })).catch(
      (error: unknown) => {
        if (!isMissing(error)) throw error
      },
    )
  }
}

/** Where the account is signed in. */
export function Sessions() {
  const texts = useTexts()
  const format = useFormat()
  const t = useOwnTexts(TEXTS)
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const list = useSessions()
  const ending = useMutation({
    mutationFn: end,
    onSettled: () => {
      setAsking(false)
      return queries.invalidateQueries({ queryKey: ['sessions'] })
    },
  })
  const sessions = list.data ?? []
  const others = sessions.filter(({ isCurrent }) => !isCurrent)
  return (
    <section className="sheet wide stack" aria-labelledby="sessions">
      <h2 id="sessions">{t.sessions}</h2>
      <p className="hint">{t.sessionsLead}</p>
      {list.error && !list.data && <Trouble error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <p className="hint">{texts.loading}</p>}
      <ul className="cards">
        {sessions.map(session => (
          <SessionCard
            key={session._id}
            session={session}
            isPending={ending.isPending}
            onEnd={() => ending.mutate([session])}
          />
        ))}
      </ul>
      {ending.error && <Trouble error={ending.error} isDeed />}
      {isAsking ? (
        <Question
          ask={t.endOthersAsk(format.count(others.length))}
          yes={t.endOthers}
          isPending={ending.isPending}
          onYes={() => ending.mutate(others)}
          onNo={() => setAsking(false)}
        />
      ) : (
        others.length > 1 && (
          <div className="row-of-buttons">
            <ActionButton onPress={() => setAsking(true)}>{t.endOthers}</ActionButton>
          </div>
        )
      )}
    </section>
  )
}

function SessionCard(props: { session: Session; isPending: boolean; onEnd: () => void }) {
  const { session, isPending, onEnd } = props
  const format = useFormat()
  const t = useOwnTexts(TEXTS)
  const { browser, system } = readUserAgent(session.userAgent ?? '')
  const name = browser === '' ? t.unknown : system ? t.on(browser, system) : browser
  return (
    <li>
      <div>
        <strong title={session.userAgent ?? ''}>{name}</strong>
        {session.isCurrent && <span className="tag">{t.here}</span>}
        <p className="hint">
          {[session.organizationName, session.address, `${t.since} ${format.dateTime(session.createdAt)}`]
            .filter(Boolean)
            .join(' · ')}
        </p>
      </div>
      {!session.isCurrent && (
        <ActionButton aria-label={t.endOf(name)} isPending={isPending} onPress={onEnd}>
          {t.end}
        </ActionButton>
      )}
    </li>
  )
}
