// Runs in the page that is measured (bench/console.ts), as it is: nothing compiles it.
window.meter = {
  /** Frames a second, for so long. */
  async countFrames(ms) {
    const begun = performance.now()
    let frames = 0
    while (performance.now() - begun < ms) {
      await new Promise(requestAnimationFrame)
      frames++
    }
    return (frames / (performance.now() - begun)) * 1_000
  },
  /** `shown` becomes the milliseconds from when the browser hears of the next click on a row until its panel is drawn. */
  awaitClick() {
    const { promise, resolve } = Promise.withResolvers()
    this.shown = promise
    // What is not answered by then counts as that, so that a run ends.
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
