import { useQueryClient } from '@tanstack/react-query'
import {
  createContext,
  type ReactNode,
  use,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { ME, useWorkspace } from '../api/workspace.ts'
import { serverNow } from '../clock.ts'
import { endSession } from '../session.ts'
import { type LiveState, openLive } from './connection.ts'
import { createFleet, type Fleet } from './fleet.ts'

interface Live {
  fleet: Fleet
  state: LiveState
  /** Whether the server has sent a snapshot. Before that, no subject counts as absent. */
  known: boolean
  filter(hubIds: string[], teamIds: string[]): void
  /** Calls the listener whenever the list of geofence events may have changed. */
  onCrossings(listener: () => void): () => void
}

const Context = createContext<Live | null>(null)
const FORBIDDEN: LiveState = { name: 'forbidden' }

/** One live socket for the whole console. */
export function LiveProvider({ token, children }: { token: string; children: ReactNode }) {
  const fleet = useMemo(createFleet, [])
  const queries = useQueryClient()
  const isAllowed = useWorkspace().may('view/location')
  const [state, setState] = useState<LiveState>({ name: 'connecting' })
  const [known, setKnown] = useState(false)
  const connection = useRef<ReturnType<typeof openLive> | null>(null)
  const crossings = useRef(new Set<() => void>())
  const latest = useRef(token)
  latest.current = token
  const wanted = useRef<{ hubIds?: string[]; teamIds?: string[] }>({})

  useEffect(() => {
    // The server would refuse the subscription.
    if (!isAllowed) {
      fleet.remove([...fleet.ids])
      return setKnown(false)
    }
    let before = ''
    let hasSnapshot = false
    const askWhoOneIs = () => void queries.invalidateQueries({ queryKey: ME }, { cancelRefetch: false })
    const opened = openLive(() => latest.current, wanted.current, {
      onSnapshot(positions) {
        fleet.replace(positions, performance.now())
        setKnown(true)
        // The server sends a new snapshot when the visible subjects have changed, maybe because the role has.
        if (hasSnapshot) askWhoOneIs()
        hasSnapshot = true
      },
      onPositions: positions => fleet.update(positions, performance.now()),
      onGone: ids => fleet.remove(ids),
      onState(next) {
        // Style sheets read it too (styles/tokens.css), and so do the colours of the map.
        document.documentElement.dataset.live = next.name
        setState(now => (now.name === next.name ? now : next))
        // The role has changed, or may have changed while the page was offline, and with it other permissions. Or no socket
        // was opened: the session may have ended, which a browser does not tell.
        const { name } = next
        const isBack = name === 'live' && before === 'catching-up'
        if (name === 'forbidden' || isBack || (name === 'offline' && before !== 'live')) askWhoOneIs()
        before = name
      },
      onCrossings() {
        for (const listener of crossings.current) listener()
      },
      onEnded: endSession,
    })
    connection.current = opened
    return () => {
      opened.close()
      connection.current = null
      delete document.documentElement.dataset.live
    }
  }, [fleet, isAllowed, queries])

  const value = useMemo<Live>(
    () => ({
      fleet,
      state: isAllowed ? state : FORBIDDEN,
      known,
      filter(hubIds, teamIds) {
        const next = {
          ...(hubIds.length > 0 && { hubIds }),
          ...(teamIds.length > 0 && { teamIds }),
        }
        if (JSON.stringify(next) === JSON.stringify(wanted.current)) return
        wanted.current = next
        connection.current?.setFilter(next)
      },
      onCrossings(listener) {
        crossings.current.add(listener)
        return () => crossings.current.delete(listener)
      },
    }),
    [fleet, state, known, isAllowed],
  )
  return <Context value={value}>{children}</Context>
}

export function useLive(): Live {
  const live = use(Context)
  if (!live) throw new Error('There is no LiveProvider above this component')
  return live
}

/** A version of the fleet that changes at most once in `everyMs`, for values that are read and not watched moving. */
export function useFleetVersion(fleet: Fleet, everyMs: number): number {
  const store = useMemo(() => {
    let shown = fleet.version
    let timer: ReturnType<typeof setTimeout> | undefined
    return {
      subscribe(listener: () => void) {
        const leave = fleet.onChange(() => {
          timer ??= setTimeout(() => {
            timer = undefined
            shown = fleet.version
            listener()
          }, everyMs)
        })
        return () => {
          leave()
          clearTimeout(timer)
          timer = undefined
        }
      },
      read: () => shown,
    }
  }, [fleet, everyMs])
  return useSyncExternalStore(store.subscribe, store.read)
}

/** The server's time, updated every `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(serverNow)
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
