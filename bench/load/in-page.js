// Runs in the measured page (bench/console.ts) as it is: nothing compiles it.
window.meter = {
  /** Frames per second, measured for `ms`. */
  async countFrames(ms) {
    const begun = performance.now()
    let frames = 0
    while (performance.now() - begun < ms) {
      await new Promise(requestAnimationFrame)
      frames++
    }
    return (frames / (performance.now() - begun)) * 1_000
  },
  /** Notes the letters that MapLibre draws: each once, 48 pixels high; names are put together of them. */
  noteLetters() {
    const letters = new Set()
    this.letters = letters
    const { fillText } = OffscreenCanvasRenderingContext2D.prototype
    OffscreenCanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      if (/\b48px/.test(this.font)) letters.add(text)
      return fillText.call(this, text, ...rest)
    }
  },
  /** `shown` resolves to the milliseconds from the click event on a row until its panel is drawn. */
  awaitClick() {
    const { promise, resolve } = Promise.withResolvers()
    this.shown = promise
    // A click without a panel counts as 10 s, so that a run ends.
    setTimeout(() => resolve(10_000), 10_000)
    const hear = event => {
      const name = event.target.closest('[role=option]')?.querySelector('.row-name')?.textContent
      const look = () => {
        if (document.querySelector('aside.panel h2')?.textContent !== name) return requestAnimationFrame(look)
        requestAnimationFrame(() => resolve(performance.now() - event.timeStamp))
      }
      look()
    }
    window.addEventListener('pointerdown', hear, { capture: true, once: true })
  },
}
