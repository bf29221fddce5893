import type { SignInTexts } from '../en/sign-in.ts'

export const signInTexts: SignInTexts = {
  codeTitle: 'Code eingeben',
  codeLead: 'Öffnen Sie die App, die Ihre Codes zeigt, und geben Sie den für Fieldline ein.',
  code: 'Code',
  codeHint: 'Sechs Ziffern. Er wechselt alle 30 Sekunden.',
  recoveryLead:
    'Geben Sie einen der Wiederherstellungscodes ein, die Sie aufbewahrt haben. Jeder öffnet Ihr Konto einmal.',
  recovery: 'Wiederherstellungscode',
  useRecovery: 'Wiederherstellungscode verwenden',
  useApp: 'Code der App verwenden',
  submit: 'Anmelden',
  submitting: 'Anmeldung läuft…',
  back: 'Von vorn beginnen',
  or: 'oder',
  with: label => `Mit ${label} anmelden`,
  withPassword: 'Mit einem Passwort anmelden',
  ownerAlone: 'Passwörter sind hier nur für den ersten Inhaber zugelassen.',
  entering: 'Anmeldung läuft…',
  away: 'Der Anbieter antwortet nicht. Versuchen Sie es bald erneut oder melden Sie sich mit Ihrem Passwort an.',
  notInvited:
    'Zu Ihrer Adresse gibt es hier kein Konto, das in einer Organisation aktiv ist. Bitten Sie einen Administrator um eine Einladung.',
}
