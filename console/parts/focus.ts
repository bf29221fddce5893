import { useEffect, useRef, useState } from 'react'

const closers: (() => void)[] = []
window.addEventListener('keydown', event => {
  if (event.key === 'Escape' && !event.defaultPrevented && !event.isComposing) closers.at(-1)?.()
})

/** Escape closes what was opened last; menus and fields within it take the key first. */
export function useEscape(onEscape: () => void): void {
  const latest = useRef(onEscape)
  latest.current = onEscape
  useEffect(() => {
    const close = () => latest.current()
    closers.push(close)
    return () => void closers.splice(closers.indexOf(close), 1)
  }, [])
}

/** Where one goes on when what had the focus is gone as well. */
const ELSEWHERE = ['.panel .button', '.rows', '.table-box tr[tabindex]', 'main .button']

/** It has the focus of whoever came here by no button. */
const PAGE_HEADING = '#content h1'

/** What had the focus when this opened has it again when it is gone, unless the focus went elsewhere meanwhile. */
export function useReturnFocus(): void {
  const [opener] = useState(() => document.activeElement)
  useEffect(() => {
    const page = document.getElementById('content')
    return () => {
      // Another page is not where one was: it begins with its heading.
      if (!page?.isConnected) return
      if (document.activeElement === document.body && opener?.matches(PAGE_HEADING)) focusHeading()
      for (const one of [opener, ...ELSEWHERE.map(place => document.querySelector(place))]) {
        if (document.activeElement !== document.body) return
        if (one instanceof HTMLElement) one.focus()
      }
    }
  }, [opener])
}

/** On with what is open, by its name: a panel, else the page. */
export function focusHeading(): void {
  goTo(document.querySelector<HTMLElement>('.panel h2') ?? document.querySelector<HTMLElement>(PAGE_HEADING))
}

/** On with the page, whatever is open on it. */
export const focusPage = (): void => goTo(document.querySelector<HTMLElement>(PAGE_HEADING))

function goTo(heading: HTMLElement | null): void {
  if (!heading) return
  heading.tabIndex = -1
  heading.focus({ preventScroll: true })
}

/** For a panel that has to be loaded: whoever came for it is at the heading of the page meanwhile. */
export function useLateHeading(): void {
  useEffect(() => {
    if (document.activeElement?.matches(PAGE_HEADING)) focusHeading()
  }, [])
}

/** When a dialog has given the focus back, which it does with the next frame. */
export const afterDialog = (then: () => void): number =>
  requestAnimationFrame(() => requestAnimationFrame(then))

/** What had the focus may go with its record, its dialog or its page, or be disabled: then it is nobody's no more than a moment. */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: EventTarget | null = document.activeElement
    const isNowhere = () => document.activeElement === document.body
    const remember = ({ target }: Event) => {
      last = target
    }
    /** Somebody has clicked where nothing takes it. */
    const forget = () => {
      if (isNowhere()) last = null
    }
    const observer = new MutationObserver(() => {
      if (!(last instanceof Element) || (last.isConnected && !last.matches(':disabled'))) return
      const left = last
      afterDialog(() => {
        // A browser takes it from what is disabled when it draws that, or a little later.
        const isLost = isNowhere() || document.activeElement === left
        if (last !== left || !isLost || document.querySelector('.modal-overlay')) return
        last = null
        // A button that its own press disables leaves one beside it.
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
