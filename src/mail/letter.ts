import { domainToASCII } from 'node:url'
import { type Language, textsOf } from './languages.ts'
import type { MailTexts, Wording } from './texts/texts.ts'

/** A mail as it is sent. */
export interface Letter {
  to: string
  /** The same for every attempt, so that a receiver recognizes a twin (RFC 5322, 3.6.4). */
  messageId: string
  subject: string
  text: string
  html: string
  language: Language
}

/** The Message-ID of a job's mail: at the domain that it comes from, as receivers expect it. */
export const messageIdOf = (jobId: string, from: string): string =>
  `<${jobId}@${domainToASCII(from.slice(from.lastIndexOf('@') + 1))}>`

/** Longer names would hide what the mail is about. */
const MAX_NAME = 100

/**
 * A name that somebody else has chosen, fit to stand in a mail: one line without characters that cannot be seen, and not a
 * link. Mail programs make a link of anything that looks like an address, also in a name such as `pay at evil.example`; a
 * word joiner (U+2060) behind the dot prevents that and is not seen.
 */
export function showName(name: string): string {
  const line = name
    .slice(0, 4 * MAX_NAME)
    .replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  const letters = [...line]
  const short =
    letters.length > MAX_NAME
      ? `${letters
          .slice(0, MAX_NAME - 1)
          .join('')
          .trimEnd()}…`
      : line
  return short.replace(/([./:@])(?=\S)/gu, '$1\u2060')
}

/** Writes a mail in a language. `word` gets the texts; `link` is where its button leads. */
export function writeLetter(options: {
  to: string
  messageId: string
  language: Language
  link: string
  /** The origin of the server, at the end of the mail. */
  publicUrl: string
  word: (texts: MailTexts) => Wording
}): Letter {
  const { to, messageId, language, link, publicUrl, word } = options
  const texts = textsOf(language)
  const wording = word(texts)
  const footer = texts.footer(publicUrl)
  return {
    ...{ to, messageId, language },
    subject: wording.subject,
    text: [...wording.before, `${wording.action}:\n${link}`, ...wording.after, `-- \n${footer}`].join('\n\n'),
    html: writeHtml({ wording, texts, footer, link, language }),
  }
}

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)

/**
 * The page of a mail. Styles stand in attributes, because many programs take nothing else; colours that a dark theme can
 * turn round. No image, no font and nothing else is loaded, so opening the mail tells nobody anything.
 */
function writeHtml({
  wording,
  texts,
  footer,
  link,
  language,
}: {
  wording: Wording
  texts: MailTexts
  footer: string
  link: string
  language: Language
}): string {
  const paragraph = (text: string, style = '') =>
    `<p style="margin:0 0 16px;${style}">${escapeHtml(text)}</p>`
  const button =
    'display:inline-block;padding:12px 20px;border-radius:6px;background:#1d4ed8;color:#ffffff;font-weight:600;text-decoration:none'
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(wording.subject)}</title>
</head>
<body style="margin:0;padding:24px 16px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif">
<div style="max-width:560px;margin:0 auto;overflow-wrap:anywhere">
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3">${escapeHtml(wording.subject)}</h1>
${wording.before.map(text => paragraph(text)).join('\n')}
<p style="margin:0 0 24px"><a href="${escapeHtml(link)}" style="${button}">${escapeHtml(wording.action)}</a></p>
${wording.after.map(text => paragraph(text)).join('\n')}
${paragraph(texts.copy, 'font-size:14px')}
<p style="margin:0 0 16px;font-size:14px"><a href="${escapeHtml(link)}">${escapeHtml(link)}</a></p>
<hr style="border:0;border-top:1px solid #9ca3af">
${paragraph(footer, 'font-size:13px')}
</div>
</body>
</html>
`
}
