/** Converts the style sheets' unit for text into pixels: 16 each, or the font size that the browser is set to. */
export const fromRem = (rem: number): number =>
  rem * Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
