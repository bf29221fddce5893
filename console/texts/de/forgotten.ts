import type { ForgottenTexts } from '../en/forgotten.ts'

export const forgottenTexts: ForgottenTexts = {
  link: 'Passwort vergessen?',
  title: 'Passwort vergessen?',
  lead: 'Sie bekommen per E-Mail einen Link, mit dem Sie ein neues wählen.',
  send: 'Link senden',
  sending: 'Wird gesendet …',
  sentTitle: 'Sehen Sie in Ihr Postfach',
  sent: email =>
    `Falls ${email} hier ein Konto mit Passwort hat, ist eine E-Mail unterwegs. Ihr Link gilt einmal, eine Stunde lang. Nichts da? Sehen Sie unter der unerwünschten Post nach und bitten Sie dann noch einmal darum.`,
  again: 'Noch einmal',
  off: 'Dieser Server versendet keine E-Mails. Ein neues Passwort vergibt die Verwaltung Ihrer Organisation.',
  toSignIn: 'Anmelden',
  chooseTitle: 'Neues Passwort wählen',
  chooseLead: 'Es gilt in allen Ihren Organisationen, und Sie werden überall abgemeldet.',
  password: 'Neues Passwort',
  passwordHint: 'Mindestens 10 Zeichen.',
  choose: 'Passwort setzen',
  choosing: 'Wird gesetzt …',
  doneTitle: 'Ihr Passwort ist gesetzt',
  done: 'Melden Sie sich jetzt damit an.',
  gone: 'Dieser Link gilt nicht mehr',
  goneLead:
    'Er wurde benutzt oder ist abgelaufen, oder das Passwort wurde inzwischen geändert. Fordern Sie einen neuen an.',
  newLink: 'Neuer Link',
}
