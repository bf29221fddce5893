/** What somebody does, as the browser tells of it. */
const INPUTS = ['pointerdown', 'click', 'keydown'] as const

/**
 * When a layer is drawn: once a frame at most, and never in the frame that answers somebody. Where a browser draws in
 * software, a frame of the map takes longer than everything else that a click does.
 */
export function createPace(draw: () => void) {
  let frame = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  const cancel = () => {
    cancelAnimationFrame(frame)
    clearTimeout(timer)
    frame = 0
    timer = undefined
  }
  const run = () => {
    cancel()
    draw()
  }
  const request = () => {
    if (frame !== 0) return
    cancel()
    frame = requestAnimationFrame(run)
  }
  const hold = () => {
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
    drawNow: run,
    close() {
      cancel()
      for (const input of INPUTS) window.removeEventListener(input, hold, { capture: true })
    },
  }
}
