/** Pixels, as the style sheets measure what holds text: 16 each, or as somebody chose in the browser. */
export const fromRem = (rem: number): number =>
  rem * Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
