import type { AccountTexts } from '../en/account.ts'

/** The texts of the own account, which are loaded with it. */
export const accountTexts: AccountTexts = {
  name: 'Ihr Name',
  nameHint: 'So sehen ihn andere in dieser Organisation.',
  saved: 'Gespeichert.',
  password: 'Passwort',
  passwordLead: 'Es gilt in allen Ihren Organisationen. Eine Änderung beendet alle Ihre anderen Sitzungen.',
  current: 'Jetziges Passwort',
  next: 'Neues Passwort',
  nextHint: 'Mindestens 10 Zeichen.',
  change: 'Passwort ändern',
  changed: 'Das Passwort ist geändert, und Ihre anderen Sitzungen sind beendet.',
  wrong: 'Das ist nicht Ihr jetziges Passwort.',
  noPassword:
    'Ihr Konto öffnet die Anmeldung über Ihren Anbieter. Passwort und zweiter Faktor sind die dortigen und werden dort geändert.',
  keys: 'Ihre API-Schlüssel',
  keysLead:
    'Schlüssel, die Sie in dieser Organisation erstellt haben. Sie gelten weiter, wenn Sie gehen; löschen Sie, was niemand braucht.',
  noKeys: 'Sie haben keine erstellt.',
  allKeys: 'Alle API-Schlüssel',
  keyUsed: 'Zuletzt benutzt:',
  keyExpired: 'Abgelaufen',
  keyUntil: date => `Läuft ab am ${date}`,
  sessions: 'Wo Sie angemeldet sind',
  sessionsLead: 'Kennen Sie eine davon nicht, beenden Sie sie und ändern Sie Ihr Passwort.',
  since: 'Seit',
  here: 'diese hier',
  on: (browser, system) => `${browser} unter ${system}`,
  unknown: 'Unbekanntes Programm',
  end: 'Beenden',
  endOf: name => `Sitzung beenden: ${name}`,
  endOthers: 'Alle anderen beenden',
  endOthersAsk: count => `${count} andere Sitzungen beenden? Wer sie benutzt, muss sich neu anmelden.`,
}
