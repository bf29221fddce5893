import { useEffect, useLayoutEffect, useRef, useState } from 'react'

const closers: (() => void)[] = []
window.addEventListener('keydown', event => {
  if (event.key === 'Escape' && !event.defaultPrevented && !event.isComposing) closers.at(-1)?.()
})

/** Escape closes whatever was opened last. Menus and fields inside it handle the key first. */
export function useEscape(onEscape: () => void): void {
  const latest = useRef(onEscape)
  latest.current = onEscape
  // Before it is drawn: whoever sees it can close it.
  useLayoutEffect(() => {
    const close = () => latest.current()
    closers.push(close)
    return () => void closers.splice(closers.indexOf(close), 1)
  }, [])
}

/** The places that get the focus when the element that opened something is gone as well. */
const ELSEWHERE = ['.panel .button', '.rows', '.table-box tr[tabindex]']

/** It has the focus after a navigation that no button started. */
const PAGE_HEADING = '#content h1'

/**
 * Returns the focus to the element that had it before this part opened, unless it moved elsewhere meanwhile. On a page where
 * nothing is left to go on with, the heading gets it.
 */
export function useReturnFocus(): void {
  const [opener] = useState(() => document.activeElement)
  useEffect(() => {
    const page = document.getElementById('content')
    return () => {
      // A new page begins with its heading instead.
      if (!page?.isConnected) return
      if (document.activeElement === document.body && opener?.matches(PAGE_HEADING)) focusHeading()
      for (const one of [opener, ...ELSEWHERE.map(place => document.querySelector(place))]) {
        if (document.activeElement !== document.body) return
        if (one instanceof HTMLElement) one.focus()
      }
      if (document.activeElement === document.body) focusHeading()
    }
  }, [opener])
}

/** Focuses the heading of the open panel, or else of the page. */
export function focusHeading(): void {
  goTo(document.querySelector<HTMLElement>('.panel h2') ?? document.querySelector<HTMLElement>(PAGE_HEADING))
}

/** Focuses the heading of the page, whatever is open on it. */
export const focusPage = (): void => goTo(document.querySelector<HTMLElement>(PAGE_HEADING))

/** The same after signing in: nobody has moved the focus by a key, so the heading has no frame until the focus moves on. */
export function focusQuietly(): void {
  focusHeading()
  const heading = document.activeElement
  if (!(heading instanceof HTMLElement) || !heading.matches('h1, h2')) return
  heading.dataset.quiet = ''
  heading.addEventListener('blur', () => delete heading.dataset.quiet, { once: true })
}

function goTo(heading: HTMLElement | null): void {
  if (!heading) return
  heading.tabIndex = -1
  heading.focus({ preventScroll: true })
}

/** For a panel that loads late: until it is there, the heading of the page has the focus. */
export function useLateHeading(): void {
  useEffect(() => {
    if (document.activeElement?.matches(PAGE_HEADING)) focusHeading()
  }, [])
}

/** Runs after a closed dialog has returned the focus, which it does in the next frame. */
export const afterDialog = (then: () => void): number =>
  requestAnimationFrame(() => requestAnimationFrame(then))

/** Restores a lost focus. The focused element may be disabled, or removed with its record, dialog or page. */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: EventTarget | null = document.activeElement
    const isNowhere = () => document.activeElement === document.body
    const remember = ({ target }: Event) => {
      last = target
    }
    /** A click on the background takes the focus away on purpose. */
    const forget = () => {
      if (isNowhere()) last = null
    }
    const observer = new MutationObserver(() => {
      if (!(last instanceof Element) || (last.isConnected && !last.matches(':disabled'))) return
      const left = last
      afterDialog(() => {
        // A browser takes the focus from a disabled element when it draws it, or a little later.
        const isLost = isNowhere() || document.activeElement === left
        if (last !== left || !isLost || document.querySelector('.modal-overlay')) return
        last = null
        // A button that is disabled by its own press leaves the focus to the one beside it.
        const beside = left.isConnected && left.parentElement?.querySelector<HTMLElement>('button:enabled')
        if (beside) beside.focus()
        else focusHeading()
      })
    })
    observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] })
    document.addEventListener('focusin', remember)
    document.addEventListener('click', forget)
    return () => {
      observer.disconnect()
      document.removeEventListener('focusin', remember)
      document.removeEventListener('click', forget)
    }
  }, [])
}
