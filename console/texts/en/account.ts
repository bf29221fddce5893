/** The texts of the own account, which are loaded with it. */
export const accountTexts = {
  name: 'Your name',
  nameHint: 'As others in this organization see it.',
  saved: 'Saved.',
  password: 'Password',
  passwordLead: 'It holds in all your organizations. Changing it ends all your other sessions.',
  current: 'Present password',
  next: 'New password',
  nextHint: 'At least 10 characters.',
  change: 'Change password',
  changed: 'The password is changed, and your other sessions have ended.',
  wrong: 'This is not your present password.',
  noPassword:
    'Single sign-on opens your account. Password and second factor are those of your provider, and are changed there.',
  keys: 'Your API keys',
  keysLead:
    'Keys that you created in this organization. They go on when you leave; delete those that nobody needs.',
  noKeys: 'You have created none.',
  allKeys: 'All API keys',
  keyUsed: 'Last used:',
  keyExpired: 'Expired',
  keyUntil: (date: string) => `Expires ${date}`,
  sessions: 'Where you are signed in',
  sessionsLead: 'If you don’t know one of them, end it and change your password.',
  since: 'Since',
  here: 'this one',
  on: (browser: string, system: string) => `${browser} on ${system}`,
  unknown: 'Unknown program',
  end: 'End',
  endOf: (name: string) => `End the session: ${name}`,
  endOthers: 'End all others',
  endOthersAsk: (count: string) => `End ${count} other sessions? Whoever uses them has to sign in again.`,
}

export type AccountTexts = typeof accountTexts
