import type { ReceivedMail, TestSmtp } from './smtp.ts'

export const PUBLIC_URL = 'https://fleet.example.com'

/** The variables of a server that sends its mail to this one. */
export const mailEnv = ({ url }: Pick<TestSmtp, 'url'>) => ({
  SMTP_URL: url,
  MAIL_FROM: 'Fleet <fleet@example.com>',
  PUBLIC_URL,
})

/** The link of a mail to a page, which stands in its text. Returns the token behind the #. */
export function tokenOf({ text }: Pick<ReceivedMail, 'text'>, page: 'invitation' | 'reset-password'): string {
  const [, token] = new RegExp(`^${PUBLIC_URL}/${page}#(\\S+)$`, 'm').exec(text) ?? []
  if (token === undefined) throw new Error(`No link to ${page} in: ${text}`)
  return token
}
