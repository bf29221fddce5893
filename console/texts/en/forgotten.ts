/** The texts of forgotten passwords, which are loaded with their pages. */
export const forgottenTexts = {
  link: 'Forgot password?',
  title: 'Forgot your password?',
  lead: 'We mail you a link to choose a new one.',
  send: 'Send link',
  sending: 'Sending…',
  sentTitle: 'Look into your mail',
  sent: (email: string) =>
    `If ${email} has an account with a password here, a mail is on its way. Its link works once, for an hour. Nothing there? Look among the unwanted mail, then ask again.`,
  again: 'Ask again',
  off: 'This server sends no mail. Ask an administrator of your organization for a new password.',
  toSignIn: 'Sign in',
  chooseTitle: 'Choose a new password',
  chooseLead: 'It holds in all your organizations, and you are signed out everywhere.',
  password: 'New password',
  passwordHint: 'At least 10 characters.',
  choose: 'Set password',
  choosing: 'Setting…',
  doneTitle: 'Your password is set',
  done: 'Sign in with it now.',
  gone: 'This link no longer works',
  goneLead: 'It has been used or has expired, or the password was changed since. Ask for a new link.',
  newLink: 'New link',
}

export type ForgottenTexts = typeof forgottenTexts
