/**
 * No log holds a token, a key, a position or a value of a record (docs/deploy.md). What tests send is noted here, and the
 * logs of all servers of a file are searched for it at its end, however the file came to write them.
 */
const SECRETS: readonly [string, RegExp][] = [
  ['a token of a session', /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}/],
  ['a key of a device, connection or program', /\bfl[a-z]_[\w-]{40,}/],
  ['the secret of a webhook', /\bwhsec_[\w+/=-]{16,}/],
  ['an Authorization header', /\bBearer [\w.~+/=-]{20,}/],
  ['the hash of a password', /\$argon2/],
  ['a position', /"(lat|lng|latitude|longitude)\\*":\s*-?\d/],
]
/** More of a kind, or more of one body, would take longer than the tests themselves. */
const MAX_NOTED = 300
const MAX_LOOKED_AT = 2_000
/** Shorter texts and rounder numbers also stand in a log by chance. */
const MIN_CHARACTERS = 12
const DEGREES = /^-?\d{1,3}\.\d{5,}$/

const noted = { password: new Set<string>(), position: new Set<string>(), record: new Set<string>() }

function note(kind: keyof typeof noted, text: string): void {
  if (noted[kind].size < MAX_NOTED) noted[kind].add(text)
}

/** Notes what a request or message holds that no log may hold. */
export function noteSent(path: string, body: unknown): void {
  const isRecord = /^\/data(\/|\?|$)/.test(path)
  let lookedAt = 0
  const look = (part: unknown) => {
    if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part)) return
    for (const [name, value] of Object.entries(part)) {
      if (++lookedAt > MAX_LOOKED_AT) return
      if (typeof value === 'object') look(value)
      else if (typeof value === 'number' && DEGREES.test(`${value}`)) note('position', `${value}`)
      else if (typeof value !== 'string' || value.length < MIN_CHARACTERS) continue
      else if (name === 'password') note('password', value)
      else if (isRecord && isTelling(value)) note('record', value)
    }
  }
  look(body)
}

/** For the next file of the worker. */
export function forgetSent(): void {
  for (const texts of Object.values(noted)) texts.clear()
}

/** Words of a person, rather than a time, an identifier or an address of the test itself. */
const isTelling = (value: string) => /\p{L} \p{L}/u.test(value)

/** What a log holds that it may not hold: for each kind one line, shortened. */
export function searchLog(log: string): string[] {
  const lineAt = (at: number) => {
    const begin = log.lastIndexOf('\n', at) + 1
    return log.slice(begin, begin + 300)
  }
  const found = new Map<string, string>()
  for (const [kind, pattern] of SECRETS) {
    const at = log.search(pattern)
    if (at >= 0) found.set(kind, lineAt(at))
  }
  for (const [kind, texts] of Object.entries(noted)) {
    for (const text of texts) {
      const at = log.indexOf(text)
      if (at >= 0) found.set(`a ${kind} that was sent, ${text},`, lineAt(at))
    }
  }
  return [...found].map(([kind, line]) => `${kind} is in the log of a server: ${line}`)
}
