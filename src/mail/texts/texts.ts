/** The words of a mail. Every text is plain: the letter escapes it where it becomes HTML. */
export interface Wording {
  subject: string
  /** Before the link. */
  before: string[]
  /** The words of the link. */
  action: string
  /** After the link. */
  after: string[]
}

/** The mails in one language. Names are already fit to be shown (src/mail/letter.ts). */
export interface MailTexts {
  /** Above a link that mail programs do not show as such. */
  copy: string
  /** At the end of every mail. */
  footer: (server: string) => string
  invitation: (of: {
    organization: string
    role: string
    /** Null if nobody is known any more who invited. */
    inviter: string | null
    days: number
  }) => Wording
  passwordReset: (of: { email: string; minutes: number }) => Wording
}
