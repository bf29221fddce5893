/** The texts of the second step of signing in and of single sign-on, which are loaded with them. */
export const signInTexts = {
  codeTitle: 'Enter your code',
  codeLead: 'Open the app that shows your codes, and enter the one for Fieldline.',
  code: 'Code',
  codeHint: 'Six digits. It changes every 30 seconds.',
  recoveryLead: 'Enter one of the recovery codes that you kept. Each opens your account once.',
  recovery: 'Recovery code',
  useRecovery: 'Use a recovery code',
  useApp: 'Use the code of the app',
  submit: 'Sign in',
  submitting: 'Signing in…',
  back: 'Begin again',
  or: 'or',
  with: (label: string) => `Sign in with ${label}`,
  withPassword: 'Sign in with a password',
  ownerAlone: 'Passwords are closed here for all but the first owner.',
  entering: 'Signing in…',
  away: 'The provider does not answer. Try again soon, or sign in with your password.',
  notInvited:
    'Your address has no account here that is active in an organization. Ask an administrator to invite you.',
}

export type SignInTexts = typeof signInTexts
