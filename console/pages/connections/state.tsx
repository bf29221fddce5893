import type { Connection } from './queries.ts'
import { useConnectionTexts } from './texts.ts'

type Shown = Pick<Connection, 'kind' | 'state'>

/** The state in words: what connects to us is known by its messages alone. */
function wordOf({ kind, state }: Shown) {
  if (kind === 'broker' || state === 'failed' || state === 'stopped') return state
  return state === 'connecting' ? 'waiting' : 'receiving'
}

/** The state of a connection, with a mark of its colour. */
export function ConnectionState({ connection }: { connection: Shown }) {
  const t = useConnectionTexts()
  return (
    <span className={`connection-state ${connection.state}`}>
      <span className="dot" aria-hidden="true" />
      <span>{t.states[wordOf(connection)]}</span>
    </span>
  )
}

/** A sentence of the server, which is in English. */
export function Sentence({ children }: { children: string | null | undefined }) {
  return children ? <span lang="en">{children}</span> : '–'
}
