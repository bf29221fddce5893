import {
  createContext,
  type ReactNode,
  use,
  useCallback,
  useEffect,
  useState,
  useSyncExternalStore,
} from 'react'
import { type Blocker, type Location, useBlocker } from 'react-router'
import { afterDialog } from '../parts/focus.ts'
import { Modal } from '../parts/modal.tsx'
import { Question } from '../parts/question.tsx'
import { hasUnsaved } from '../session.ts'
import { useTexts } from '../texts/texts.tsx'

type Leave = (title: string, go: () => void) => void

const Context = createContext<Leave>((_, go) => go())

/** Does what ends the session: after a question where something is typed and not saved. */
export const useLeave = (): Leave => use(Context)

/** What of an address says which form is open; the rest is what is shown beside it. */
const OPENS = ['fence', 'edit']

function isElsewhere(here: Location, there: Location): boolean {
  const [from, to] = [here, there].map(({ search }) => new URLSearchParams(search))
  return here.pathname !== there.pathname || OPENS.some(name => from?.get(name) !== to?.get(name))
}

type Blocked = Extract<Blocker, { state: 'blocked' }>
let blocked: Blocked | null = null
const listeners = new Set<() => void>()
const onBlocked = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * Stops who goes elsewhere while something is typed. It stands above what is hidden while somebody signs in again: hidden and
 * shown once more, React Router 7.18 would hold two of them, of which one is nobody's.
 */
export function WayBlocker(): null {
  const way = useBlocker(
    ({ currentLocation, nextLocation }) => hasUnsaved() && isElsewhere(currentLocation, nextLocation),
  )
  useEffect(() => {
    blocked = way.state === 'blocked' ? way : null
    for (const listener of listeners) listener()
  }, [way])
  return null
}

/** Nothing that is typed goes without a question: with the session, by a link, the way back, the palette, or the tab. */
export function LeavingProvider({ children }: { children: ReactNode }) {
  const { form } = useTexts()
  const [asked, setAsked] = useState<{ title: string; go: () => void; stay?: () => void } | null>(null)
  const leave = useCallback<Leave>((title, go) => {
    if (!hasUnsaved()) return go()
    // The menu or the palette in which it was chosen gives the focus back first: there one is again who stays.
    afterDialog(() => setAsked({ title, go }))
  }, [])
  const way = useSyncExternalStore(onBlocked, () => blocked)
  useEffect(() => {
    if (!way) return
    afterDialog(() => setAsked({ title: form.unsaved, go: way.proceed, stay: way.reset }))
  }, [way, form])
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => hasUnsaved() && event.preventDefault()
    window.addEventListener('beforeunload', ask)
    return () => window.removeEventListener('beforeunload', ask)
  }, [])
  const stay = () => {
    setAsked(null)
    asked?.stay?.()
  }
  return (
    <Context value={leave}>
      {children}
      {asked && (
        <Modal title={asked.title} onClose={stay}>
          <Question
            ask={form.leaveAsk}
            yes={form.leave}
            no={form.stay}
            onYes={() => {
              setAsked(null)
              asked.go()
            }}
            onNo={stay}
          />
        </Modal>
      )}
    </Context>
  )
}
