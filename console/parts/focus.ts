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

/** What had the focus when this opened has it again when it is gone, unless the focus went elsewhere meanwhile. */
export function useReturnFocus(): void {
  const [opener] = useState(() => document.activeElement)
  useEffect(
    () => () => {
      for (const one of [opener, ...ELSEWHERE.map(place => document.querySelector(place))]) {
        if (document.activeElement !== document.body) return
        if (one instanceof HTMLElement) one.focus()
      }
    },
    [opener],
  )
}
