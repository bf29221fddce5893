import { domainToASCII } from 'node:url'

/** RFC 5321, 4.5.3.1.3: 256 octets with the angle brackets. */
export const MAX_EMAIL_BYTES = 254
/** RFC 5321, 4.5.3.1.1. */
const MAX_LOCAL_BYTES = 64
/**
 * RFC 6531, 3.3: everything beyond ASCII, without invisible characters; some scripts need the two joiners among these.
 */
const BEYOND_ASCII = '[^\\p{ASCII}\\p{C}\\p{Z}]|[\u200c\u200d]'
const ATOM = `(?:[A-Za-z0-9!#$%&'*+/=?^_\`{|}~-]|${BEYOND_ASCII})+`
const ADDRESS = new RegExp(`^(${ATOM}(?:\\.${ATOM})*)@((?:[A-Za-z0-9.-]|${BEYOND_ASCII})+)$`, 'u')
/** At least two labels, and the last one is no number. */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$/

/**
 * Whether a text is an address of RFC 5321, or an internationalized one of RFC 6531. Excludes forms that no provider
 * assigns: a quoted local part, and a network address as the domain.
 */
export function isEmailAddress(text: string): boolean {
  if (Buffer.byteLength(text) > MAX_EMAIL_BYTES) return false
  const [, local, domain] = ADDRESS.exec(text) ?? []
  if (local === undefined || domain === undefined) return false
  return Buffer.byteLength(local) <= MAX_LOCAL_BYTES && DOMAIN.test(domainToASCII(domain))
}

/**
 * An address in its stored form: a letter and its accent are one character (NFC), however they were typed. A text that
 * is too long for an address stays as it is: sorting many accents in a row takes time in the square of their number.
 */
export function composeEmail(email: string): string {
  const text = email.trim()
  return text.length > 4 * MAX_EMAIL_BYTES ? text : text.normalize('NFC')
}

/**
 * The form of an address for comparison, everywhere: two spellings of one mailbox give the same text. It is composed
 * and in lower case by Unicode, as mailbox providers fold the part before the @, and its domain is in ASCII (IDNA). SQL
 * computes nothing of it, but finds it stored: `accounts.folded_email`, `data_keys.value`.
 */
export function foldEmail(email: string): string {
  const text = composeEmail(email)
  if (/^\p{ASCII}*$/u.test(text) || !isEmailAddress(text)) return text.toLowerCase()
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at).toLowerCase().normalize('NFC')
  return `${local}@${domainToASCII(text.slice(at + 1))}`
}
