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
import { hasUnsaved, type Unsaved } from '../session.ts'
import { useTexts } from '../texts/texts.tsx'

type Leave = (title: string, go: () => void) => void

const Context = createContext<Leave>((_, go) => go())

/** Does what ends the session: after a question where something is typed and not saved. */
export const useLeave = (): Leave => use(Context)

/** What of an address says which form, and whose dialog, is open; the rest is what is shown beside it. */
const OPENS = { typed: ['fence', 'edit'], shown: ['fence', 'subject'] } as const

function isLost(kind: Unsaved, here: Location, there: Location): boolean {
  if (!hasUnsaved(kind)) return false
  const [from, to] = [here, there].map(({ search }) => new URLSearchParams(search))
  return here.pathname !== there.pathname || OPENS[kind].some(name => from?.get(name) !== to?.get(name))
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
    ({ currentLocation, nextLocation }) =>
      isLost('typed', currentLocation, nextLocation) || isLost('shown', currentLocation, nextLocation),
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
    afterDialog(() =>
      setAsked({ title: hasUnsaved('typed') ? form.unsaved : form.shown, go: way.proceed, stay: way.reset }),
    )
  }, [way, form])
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => hasUnsaved('typed') && event.preventDefault()
    window.addEventListener('beforeunload', ask)
    return () => window.removeEventListener('beforeunload', ask)
  }, [])
  const isTyped = hasUnsaved('typed')
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
            ask={isTyped ? form.leaveAsk : form.shownAsk}
            yes={isTyped ? form.leave : form.close}
            no={isTyped ? form.stay : form.back}
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
