/** The events of a person's input. */
const INPUTS = ['pointerdown', 'click', 'keydown'] as const
/** A held key fires many events. The map is drawn in between after this time. */
const LONGEST_HOLD_MS = 100

/**
 * Schedules the drawing of the map: at most once a frame, and never in the frame that responds to input. Where a browser
 * draws in software, a frame of the map takes longer than everything else that a click does. Input to the map itself, inside
 * of `own`, is answered at once.
 */
export function createPace(own: Element, draw: () => void) {
  let frame = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  /** The time since which a drawing is postponed. */
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
    /** Draws in the next frame. */
    request,
    /** Draws after this time, unless another drawing is requested before. */
    requestIn(ms: number) {
      if (frame === 0) timer ??= setTimeout(request, ms)
    },
    close() {
      cancel()
      for (const input of INPUTS) window.removeEventListener(input, hold, { capture: true })
    },
  }
}
