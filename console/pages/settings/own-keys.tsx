import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { serverNow } from '../../clock.ts'
import { isAwaited } from '../../parts/awaited.ts'
import { Trouble } from '../../parts/parts.tsx'
import { accountTexts as de } from '../../texts/de/account.ts'
import { accountTexts as en } from '../../texts/en/account.ts'
import { useFormat, useOwnTexts, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import { useSessions } from './sessions.tsx'

const TEXTS = { en, de }
/** Further ones are on the page of all keys. */
const MAX_SHOWN = 100

const readOwn = async (createdBy: string) =>
  answered(api.GET('/api/v3/api-keys', { params: { query: { createdBy, limit: MAX_SHOWN } } }))

type ApiKey = Awaited<ReturnType<typeof readOwn>>['data'][number]

/** The API keys that the own user has created in this organization; nothing for whoever may see no keys. */
export function OwnKeys() {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const { user, may } = useWorkspace()
  const isSeen = may('view/api-key')
  const list = useQuery({
    queryKey: ['api-keys-of', user._id],
    queryFn: () => readOwn(user._id),
    enabled: isSeen,
  })
  // The sessions above would push it down under a press.
  const areSessionsAwaited = isAwaited(useSessions())
  if (!isSeen || areSessionsAwaited) return null
  return (
    <section className="sheet wide stack" aria-labelledby="own-keys">
      <h2 id="own-keys">{t.keys}</h2>
      <p className="hint">{t.keysLead}</p>
      <p>
        <Link to={urls.list('api-keys')}>{t.allKeys}</Link>
      </p>
      {list.error && !list.data && <Trouble error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <p className="hint">{texts.loading}</p>}
      {list.data?.data.length === 0 && <p>{t.noKeys}</p>}
      <ul className="cards">
        {list.data?.data.map(apiKey => (
          <KeyCard key={apiKey._id} apiKey={apiKey} />
        ))}
      </ul>
    </section>
  )
}

function KeyCard({ apiKey }: { apiKey: ApiKey }) {
  const texts = useTexts()
  const format = useFormat()
  const t = useOwnTexts(TEXTS)
  const { _id, name, role, prefix, expiresAt, lastUsedAt, lastUsedFrom } = apiKey
  const used = lastUsedAt === null ? texts.units.never : format.ago(Date.parse(lastUsedAt))
  const end = expiresAt === null ? null : Date.parse(expiresAt)
  return (
    <li>
      <div>
        <Link to={urls.record('api-keys', _id)}>{name}</Link>
        {end !== null && end <= serverNow() && <span className="tag">{t.keyExpired}</span>}
        <p className="hint">
          {[
            role.name,
            `${prefix}…`,
            `${t.keyUsed} ${used}${lastUsedFrom === null ? '' : ` (${lastUsedFrom})`}`,
            end !== null && end > serverNow() && t.keyUntil(format.longDate(format.dateOf(end))),
          ]
            .filter(Boolean)
            .join(' · ')}
        </p>
      </div>
    </li>
  )
}
