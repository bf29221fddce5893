/** What somebody does, as the browser tells of it. */
const INPUTS = ['pointerdown', 'click', 'keydown'] as const
/** A key that is held down is many: in between it is drawn all the same. */
const LONGEST_HOLD_MS = 100

/**
 * When the map is drawn: once a frame at most, and never in the frame that answers somebody. Where a browser draws in
 * software, a frame of the map takes longer than everything else that a click does. What is done to the map itself it answers
 * at once: `own` is where that is.
 */
export function createPace(own: Element, draw: () => void) {
  let frame = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  /** Since when it has been held, and not been drawn. */
  let heldAt = 0

  const cancel = () => {
    cancelAnimationFrame(frame)
    clearTimeout(timer)
    frame = 0
    timer = undefined
  }
  const run = () => {
    cancel()
    heldAt = 0
    draw()
  }
  const request = () => {
    if (frame !== 0) return
    cancel()
    frame = requestAnimationFrame(run)
  }
  const hold = ({ type, target }: Event) => {
    if (type !== 'click' && own.contains(target as Node)) return
    const now = performance.now()
    heldAt ||= now
    if (now - heldAt > LONGEST_HOLD_MS) return
    cancel()
    frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(run)
    })
  }
  for (const input of INPUTS) window.addEventListener(input, hold, { capture: true })

  return {
    /** With the next frame. */
    request,
    /** With the one after so long, unless another is asked for before. */
    requestIn(ms: number) {
      if (frame === 0) timer ??= setTimeout(request, ms)
    },
    close() {
      cancel()
      for (const input of INPUTS) window.removeEventListener(input, hold, { capture: true })
    },
  }
}
