/** The texts of the second factor, which are loaded with it. */
export const secondFactorTexts = {
  title: 'Second factor',
  offLead:
    'With a second factor, signing in takes a code of an app on your phone as well. It holds in all your organizations.',
  onLead: 'Signing in takes a code of your app as well, in all your organizations.',
  isOn: 'On',
  setUp: 'Set up a second factor',
  scanLead:
    'Scan this with an app that shows codes, such as the one of your phone or your password manager, or type the key into it.',
  scan: 'Picture of the key, for the camera of the app',
  key: 'Key',
  open: 'Open in an app on this device',
  codeLead: 'Then enter the code that the app shows.',
  code: 'Code',
  wrongCode: 'This is not the code that the app shows now.',
  confirm: 'Turn on',
  codes: 'Recovery codes',
  codesLead:
    'Each of these codes opens your account once, without the app. Keep them where you find them when your phone is gone. They are not shown again.',
  copyAll: 'Copy all',
  copied: 'Copied',
  download: 'Download',
  file: 'fieldline-recovery-codes.txt',
  kept: 'I have kept them',
  left: (count: number) => (count === 1 ? '1 recovery code is left.' : `${count} recovery codes are left.`),
  few: 'Remove the second factor and set it up again to get new ones.',
  remove: 'Remove',
  removeTitle: 'Remove the second factor',
  removeLead:
    'Signing in takes the password alone after that. The recovery codes go with it, and your other sessions end.',
  password: 'Present password',
  wrongPassword: 'This is not your present password.',
  anyCode: 'Code of the app, or a recovery code',
  wrongAnyCode: 'This code is wrong, too old, or was used before.',
  demanded: (organization: string) => `${organization} demands a second factor`,
  thisOrganization: 'This organization',
  demandedLead: 'Set one up to go on. It takes a minute, and an app on your phone that shows codes.',
  goTo: (organization: string) => `Go to ${organization} instead`,
  signOut: 'Sign out',
  demandLead:
    'Whoever has no second factor reaches nothing in this organization until they have set one up. API keys are not concerned, nor are people whom single sign-on lets in.',
  demand: 'Demand a second factor',
  demandAsk: (count: number, areNamed: boolean) =>
    count === 1
      ? `One person has none and would be shut out at once${areNamed ? ':' : '.'}`
      : `${count} people have none and would be shut out at once${areNamed ? ':' : '.'}`,
  demandNobody: 'Everybody has one. Demand it from now on?',
  others: (count: number) => (count === 1 ? 'and 1 other' : `and ${count} others`),
  alsoYou: 'You are one of them: you set one up next.',
  demandYes: 'Demand it',
  isDemanded: 'This organization demands a second factor.',
  noLonger: 'Demand it no longer',
}

export type SecondFactorTexts = typeof secondFactorTexts
