import {
  type InfiniteData,
  QueryCache,
  QueryClient,
  QueryClientProvider,
  useMutationState,
} from '@tanstack/react-query'
import { Activity, Suspense, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { RouterProvider as AriaRouter } from 'react-aria-components'
import { Navigate, NavLink, Outlet, useHref, useLocation, useNavigate } from 'react-router'
import { againAfter, isAway, isForbidden, retryAfterOf } from '../api/failure.ts'
import { lazyWithRetry, preload, useFailedLoads, useIsWaitingForServer } from '../api/lazy-with-retry.ts'
import { useWorkspace } from '../api/workspace.ts'
import { LiveProvider, useLive } from '../live/live.tsx'
import { focusPage, focusQuietly, useKeptFocus } from '../parts/focus.ts'
import { Icon } from '../parts/icon.tsx'
import { Logo } from '../parts/logo.tsx'
import { IconButton, sayUndone } from '../parts/parts.tsx'
import { useSingleKeys } from '../parts/single-keys.ts'
import { getUndoable, offerUndo, onUndoable } from '../parts/undo.ts'
import { accountOf, getHeld, getSession, hasJustEntered, hasLeft, onSession } from '../session.ts'
import { useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'
import { Entrance } from './entrance.tsx'
import { LeavingProvider, WayBlocker } from './leaving.tsx'
import { LiveBadge } from './live-badge.tsx'
import { AccountMenu, MorePages, OrganizationMenu } from './menus.tsx'
import { useIsOutdated } from './outdated.ts'
import { type PageEntry, usePages } from './pages.ts'
import { Palette } from './palette.tsx'
import { SWITCHING } from './session-actions.ts'
import { WorkspaceProvider } from './workspace-provider.tsx'

const KeysDialog = lazyWithRetry(() => import('./keys-dialog.tsx'))
const ZoneNote = lazyWithRetry(() => import('./zone-note.tsx'))
const UndoBar = lazyWithRetry(() => import('./undo-bar.tsx'))
const READER_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone
const MAX_RETRIES = 3
/** The bar has room for this number of pages with their names (styles/shell.css hides the others). */
const PAGES_ON_PHONE = 4
/** A table that is scrolled further is not refreshed by itself, but when its page is opened again. */
const MAX_PAGES = 5
const isShort = (data: unknown) =>
  ((data as InfiniteData<unknown> | undefined)?.pages?.length ?? 1) <= MAX_PAGES
declare module '@tanstack/react-query' {
  interface Register {
    /** The refresh interval for data that others may change. */
    queryMeta: { everyMs?: number }
  }
}

/**
 * The frame around every page for somebody who is signed in. Another account or organization starts from the map and takes
 * over no state. If unsaved input would be lost with the session, it stays mounted and hidden below the sign-in form.
 */
export function Shell() {
  const session = useSyncExternalStore(onSession, getSession)
  const held = useSyncExternalStore(onSession, getHeld)
  const navigate = useNavigate()
  const shown = held ?? session
  const account = shown && accountOf(shown)
  const [here, setHere] = useState(account)
  if (account && !here) setHere(account)
  if (!shown) return <ToSignIn />
  if (account !== here) return <ToMap onThere={() => setHere(account)} />
  return (
    <>
      <WayBlocker />
      <Activity mode={held ? 'hidden' : 'visible'}>
        <AriaRouter navigate={path => void navigate(path)} useHref={useHref}>
          <SignedIn key={account} token={shown.token} />
        </AriaRouter>
      </Activity>
      {held && !session && <Entrance isAgain />}
    </>
  )
}

function ToMap({ onThere }: { onThere: () => void }) {
  const { pathname, search } = useLocation()
  const isThere = pathname + search === urls.map
  useEffect(() => {
    if (isThere) onThere()
  })
  return isThere ? null : <Navigate to={urls.map} replace />
}

/** A component of its own, so that the shell does not render again with every address. */
function ToSignIn() {
  const { pathname, search } = useLocation()
  return <Navigate to={urls.signIn(hasLeft() ? urls.map : pathname + search)} replace />
}

function SignedIn({ token }: { token: string }) {
  const queries = useMemo(
    () =>
      new QueryClient({
        queryCache: new QueryCache({
          // The previous role was allowed to see the data.
          onError: (error, query) => isForbidden(error) && query.setState({ data: undefined }),
        }),
        defaultOptions: {
          // A request that cannot be sent fails, and is not sent later when nobody expects it any more.
          mutations: { networkMode: 'always' },
          queries: {
            networkMode: 'always',
            staleTime: 10_000,
            // A busy server gets no request before the time that it names. The page shows that time (parts/parts.tsx).
            retry: (count, error) =>
              count < MAX_RETRIES && isAway(error) && retryAfterOf(error) === undefined,
            refetchInterval: ({ state: { data, error }, meta }) =>
              againAfter(error) ?? (isShort(data) && (meta?.everyMs ?? false)),
            refetchOnReconnect: true,
          },
        },
      }),
    [],
  )
  return (
    <QueryClientProvider client={queries}>
      <WorkspaceProvider>
        <LiveProvider token={token}>
          <LeavingProvider>
            <Frame />
          </LeavingProvider>
        </LiveProvider>
      </WorkspaceProvider>
    </QueryClientProvider>
  )
}

function Frame() {
  const texts = useTexts()
  const pages = usePages()
  const { timeZone } = useWorkspace()
  // The sign-in form had the focus and is gone: the heading gets it.
  useEffect(() => {
    if (hasJustEntered() && !document.querySelector('.modal-overlay')) focusQuietly()
  }, [])
  useKeptFocus()
  const [isShowingKeys, setShowingKeys] = useState(false)
  useSingleKeys({ '/': focusSearch, '?': () => setShowingKeys(true) })
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={focusPage}>
        {texts.skip}
      </button>
      <header className="side">
        <div className="side-top">
          <Logo />
          <OrganizationMenu />
        </div>
        <Palette />
        <nav aria-label={texts.nav.label}>
          {pages.map((page, at) => (
            <NavItem key={page.to} {...page} isFirst={page.group !== pages[at - 1]?.group} />
          ))}
          <MorePages pages={pages.slice(PAGES_ON_PHONE)} />
        </nav>
        <div className="side-end">
          {timeZone !== READER_ZONE && (
            <Suspense>
              <ZoneNote />
            </Suspense>
          )}
          <LiveBadge />
          <AccountMenu />
        </div>
      </header>
      <Outlet />
      <LoadAhead />
      <News />
      <Undo />
      {isShowingKeys && (
        <Suspense>
          <KeysDialog onClose={() => setShowingKeys(false)} />
        </Suspense>
      )}
    </div>
  )
}

/** The search of the page, or the one for everything. */
function focusSearch() {
  const search = document.querySelector<HTMLInputElement>('#content .search input')
  if (search) search.focus()
  else document.querySelector<HTMLElement>('.palette-button')?.click()
}

/** Preloads the other pages. On the map its tiles load first. */
function LoadAhead() {
  const { pathname } = useLocation()
  const isFree = useLive().state.name === 'live' && pathname !== urls.map
  useEffect(() => (isFree ? preload() : undefined), [isFree])
  return null
}

function Undo() {
  const change = useSyncExternalStore(onUndoable, getUndoable)
  // Another account or organization has nothing to undo.
  useEffect(() => () => offerUndo(null), [])
  return (
    change && (
      <Suspense>
        <UndoBar key={change.number} change={change} />
      </Suspense>
    )
  )
}

/**
 * One line of news: that an opened page waits for the server, that the role has changed, or that a switch failed. It stays until it is closed or another page is opened.
 */
function News() {
  const texts = useTexts()
  const { nav, account, form, errors } = texts
  const { roleChanges } = useWorkspace()
  const isWaiting = useIsWaitingForServer()
  const failed = useFailedLoads()
  const isOutdated = useIsOutdated()
  const switched = useMutationState({ filters: { mutationKey: SWITCHING }, select: ({ state }) => state }).at(
    -1,
  )
  const { pathname } = useLocation()
  const [heard, setHeard] = useState({
    pathname,
    roleChanges: 0,
    failed: 0,
    switchedAt: 0,
  })
  const hear = () => setHeard({ pathname, roleChanges, failed, switchedAt: switched?.submittedAt ?? 0 })
  if (pathname !== heard.pathname) hear()
  const isRefused = switched?.status === 'error' && switched.submittedAt > heard.switchedAt
  const refusal = isRefused && (
    <>
      {account.notSwitched} {sayUndone(switched.error, texts)}
    </>
  )
  const news = refusal || (roleChanges > heard.roleChanges ? account.roleChanged : '')
  const reload = failed > heard.failed ? errors.unloaded : isOutdated && errors.outdated
  const text = isWaiting ? nav.opensLater : news || reload
  return (
    <p className="waiting" role="status">
      {text}
      {reload && text === reload && <a href={location.href}>{errors.reload}</a>}
      {news && text === news && <IconButton icon="close" label={form.close} onPress={hear} />}
    </p>
  )
}

/** `isFirst` of its group: a gap stands above it. */
function NavItem({ to, icon, text, isFirst }: PageEntry & { isFirst: boolean }) {
  return (
    <NavLink className={`nav-item ${isFirst ? 'begins' : ''}`} to={to} end={to === urls.map} title={text}>
      <Icon name={icon} />
      <span>{text}</span>
    </NavLink>
  )
}
