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

/** Runs an action that ends the session. It asks first when there is unsaved input. */
export const useLeave = (): Leave => use(Context)

/** The parameters of an address that name the open form or dialog. The other parameters only change the view beside it. */
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
 * Stops navigation while there is unsaved input. It stands outside of the part that is hidden during a new sign-in: hidden
 * and shown again, React Router 7.18 would register the blocker twice and never remove one of the two.
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

/** Asks before unsaved input is lost: with the session, by a link, the back button, the palette, or by closing the tab. */
export function LeavingProvider({ children }: { children: ReactNode }) {
  const { form } = useTexts()
  const [asked, setAsked] = useState<{ title: string; go: () => void; stay?: () => void } | null>(null)
  const leave = useCallback<Leave>((title, go) => {
    if (!hasUnsaved()) return go()
    // The menu or the palette returns the focus first, so that it is there again after "Keep editing".
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
