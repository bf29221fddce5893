/** From the most special to the most general: Edge and Opera name Chrome too, and Chrome names Safari. */
const BROWSERS: [name: string, pattern: RegExp][] = [
  ['Edge', /\bEdgA?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(Headless)?(Chrome|CriOS)\//],
  ['Safari', /\bSafari\//],
]
const SYSTEMS: [name: string, pattern: RegExp][] = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(iPhone|iPad|iPod)\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
]

const find = (names: [string, RegExp][], text: string) => names.find(([, pattern]) => pattern.test(text))?.[0]

/** The browser and the system that a `User-Agent` names. Another program is its first word: `curl/8.5.0`. */
export function readUserAgent(text: string): { browser: string; system: string | undefined } {
  const browser = find(BROWSERS, text)
  if (browser === undefined) return { browser: text.split(' ')[0] ?? '', system: undefined }
  return { browser, system: find(SYSTEMS, text) }
}
