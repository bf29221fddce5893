import { isEmailAddress } from '../../db/email-address.ts'
import { keepFaultless, type Secret } from '../../db/secret.ts'
import { readSmtpUrl } from '../mail/smtp-url.ts'
import type { Reader } from './reader.ts'

/** How the server sends mail. */
export interface MailConfig {
  /** See `readSmtpUrl`. */
  smtpUrl: Secret
  from: { name: string; address: string }
  /** The origin of the links in mails. Never taken from a request, whose `Host` a stranger writes. */
  publicUrl: string
}

/** Undefined means that the server sends no mail. */
export function readMail(read: Reader, publicUrl: string | undefined): MailConfig | undefined {
  const smtpUrl = readUrl(read)
  const from = readFrom(read)
  const isGiven = (name: string) => read.env[name] !== undefined
  const wanted = isGiven('SMTP_URL') || isGiven('SMTP_URL_FILE')
  if (!wanted) {
    if (isGiven('MAIL_FROM')) read.problems.push('MAIL_FROM requires SMTP_URL')
    return undefined
  }
  const absent = ['MAIL_FROM', 'PUBLIC_URL'].filter(name => !isGiven(name))
  if (absent.length > 0) read.problems.push(`To send mail, set ${absent.join(' and ')} too`)
  return smtpUrl && from && publicUrl !== undefined ? { smtpUrl, from, publicUrl } : undefined
}

/** An address may hold a password, so no problem shows it. */
function readUrl(read: Reader): Secret | undefined {
  const secret = read.secret('SMTP_URL')
  if (!secret) return undefined
  const fault = faultOf(secret.current)
  if (fault) read.problems.push(`SMTP_URL ${fault}`)
  return keepFaultless(secret, faultOf, fault => read.ignore('SMTP_URL', fault))
}

function faultOf(address: string): string | null {
  try {
    readSmtpUrl(address)
    return null
  } catch (error) {
    const { code, path, message } = error as NodeJS.ErrnoException
    return path === undefined ? message : `names ${path}, which cannot be read (${code})`
  }
}

/** `name <address>`, or the address alone. */
function readFrom({ env, problems }: Reader): MailConfig['from'] | undefined {
  const given = env.MAIL_FROM
  if (given === undefined) return undefined
  const [, name = '', address = given.trim()] =
    /^\s*"?([^<>"\p{Cc}]{0,200}?)"?\s*<([^<>\p{Cc}]+)>\s*$/u.exec(given) ?? []
  if (isEmailAddress(address)) return { name: name.trim() || 'Fieldline', address }
  problems.push(
    `MAIL_FROM has to be an address such as fleet@example.com or Fleet <fleet@example.com>, it is "${given}"`,
  )
  return undefined
}
