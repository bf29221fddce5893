import { readFileSync } from 'node:fs'
import type { NodemailerError, SMTPTransportOptions } from 'nodemailer'
import { isEmailAddress } from '../../db/email-address.ts'
import type { MailConfig } from '../config/mail.ts'
import type { Letter } from './letter.ts'
import { readSmtpUrl } from './smtp-url.ts'

/** The result of an attempt: handed over, refused for good, or to be tried again. */
export type Handing = { kind: 'sent' } | { kind: 'refused' | 'failed'; reason: string }

export interface MailSender {
  /** Tries once to hand a mail to the SMTP server. Never rejects: the result has the reason. */
  send(letter: Letter, signal: AbortSignal): Promise<Handing>
}

export interface MailTimeouts {
  /** From looking up the name to the end of the encryption's handshake. */
  connectMs: number
  greetingMs: number
  /** Without a byte from the server. */
  silenceMs: number
  /** Everything together, also for a server that sends a byte now and then. */
  totalMs: number
}

/**
 * A server may take ten minutes to accept a message that it has already received (RFC 5321, 4.5.3.2.6): whoever gives up
 * earlier sends it again, and the reader has it twice.
 */
const TIMEOUTS: MailTimeouts = {
  connectMs: 20_000,
  greetingMs: 30_000,
  silenceMs: 10 * 60_000,
  totalMs: 11 * 60_000,
}
/** An answer of SMTP is some lines of at most 512 bytes (RFC 5321, 4.5.3.1.5). */
const MAX_ANSWER_BYTES = 16 * 1024
const MAX_REASON = 300

/** Steps of SMTP at which a refusal is about this mail. At any other one it is about the server or its configuration. */
const ABOUT_THE_MAIL = new Set(['RCPT TO', 'DATA'])

/**
 * Sends mail over one SMTP server. Each mail has a connection of its own, with the address, password and certificates as they
 * are at that time.
 */
export function createMailSender(config: MailConfig, timeouts: MailTimeouts = TIMEOUTS): MailSender {
  return {
    async send(letter, signal) {
      // Checked where it was typed. Read as more than one address, it would reach somebody else.
      if (!isEmailAddress(letter.to)) return { kind: 'refused', reason: 'This is not an e-mail address' }
      const late = AbortSignal.timeout(timeouts.totalMs)
      try {
        // Loaded with the first mail, because most servers send none.
        const { createTransport } = await import('nodemailer')
        const transport = createTransport(toOptions(config, timeouts))
        try {
          await transport.sendMail(toMessage(config, letter, AbortSignal.any([signal, late])))
        } finally {
          transport.close()
        }
        return { kind: 'sent' }
      } catch (error) {
        if (late.aborted)
          return {
            kind: 'failed',
            reason: `The SMTP server was not done within ${timeouts.totalMs / 1000} s`,
          }
        return explain(error as NodemailerError)
      }
    },
  }
}

function toOptions({ smtpUrl, publicUrl }: MailConfig, timeouts: MailTimeouts): SMTPTransportOptions {
  const { host, port, isTls, startTls, caFile, auth } = readSmtpUrl(smtpUrl.current)
  return {
    host,
    port,
    secure: isTls,
    requireTLS: !isTls && startTls === 'require',
    ignoreTLS: startTls === 'never',
    ...(auth && { auth }),
    ...(caFile !== undefined && { tls: { ca: readFileSync(caFile) } }),
    // Otherwise it is this machine's own name, which readers would find in the mail.
    name: new URL(publicUrl).hostname,
    connectionTimeout: timeouts.connectMs,
    dnsTimeout: timeouts.connectMs,
    greetingTimeout: timeouts.greetingMs,
    socketTimeout: timeouts.silenceMs,
    maxResponseSize: MAX_ANSWER_BYTES,
    logger: false,
  }
}

function toMessage({ from }: MailConfig, letter: Letter, signal: AbortSignal) {
  const { to, messageId, subject, text, html, language } = letter
  return {
    signal,
    from,
    to: { name: '', address: to },
    // Not read from the headers, so that nothing in them adds a recipient.
    envelope: { from: from.address, to: [to] },
    subject,
    text,
    html,
    messageId,
    headers: {
      // RFC 3834: no automatic answers, please.
      'Auto-Submitted': 'auto-generated',
      'Content-Language': language,
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function explain(error: NodemailerError): Handing {
  const { code, command = '', permanent } = error
  // Without a command there was no server yet that could refuse the address: the mail could not be written.
  const isFinal = ABOUT_THE_MAIL.has(command) ? permanent === true : code === 'EENVELOPE' && command === 'API'
  return { kind: isFinal ? 'refused' : 'failed', reason: describe(error) }
}

/** One line for the log. The server's own words are in it, and may be anything. */
function describe(error: NodemailerError): string {
  const { code, originalCode, message } = error
  const prefix = originalCode ?? code
  const text = message.replace(/[\p{C}\s]+/gu, ' ').trim()
  return `${prefix === undefined ? '' : `${prefix}: `}${text}`.slice(0, MAX_REASON)
}
