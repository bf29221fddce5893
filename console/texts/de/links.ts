import type { LinkTexts } from '../en/links.ts'

export const linkTexts: LinkTexts = {
  title: 'Tracking-Links',
  lead: 'Wer den Link hat, sieht eine Position, bis der Link abläuft oder widerrufen wird.',
  create: name => `Standort von ${name} teilen`,
  explain: 'Wer den Link hat, sieht Name, Position und Spur, sonst nichts. Keine Anmeldung nötig.',
  explainTask:
    'Wer den Link hat, sieht Name, Position, Spur und den Ort der Aufgabe, sonst nichts, bis die Aufgabe erledigt ist. Keine Anmeldung nötig.',
  duration: 'Gültig für',
  durations: { hour: '1 Stunde', shift: '8 Stunden', day: '1 Tag', week: '1 Woche' },
  trail: 'Spur',
  trails: { none: 'Keine', hour: 'Letzte Stunde', day: 'Letzter Tag' },
  make: 'Link erstellen',
  made: 'Der Link wird nur einmal angezeigt. Jetzt kopieren.',
  url: 'Link',
  subject: 'Objekt',
  task: 'Aufgabe',
  expires: 'Gültig bis',
  expired: 'Abgelaufen',
  trailMinutes: 'Spur',
  created: 'Erstellt',
  revoke: 'Widerrufen',
  revokeAsk: name => `Link zu ${name} widerrufen? Wer ihn geöffnet hat, verliert sofort den Zugriff.`,
  revoked: 'Link widerrufen.',
  active: 'Aktive Links',
  none: 'Noch keine Links',
  noneHint: 'Auf der Live-Karte etwas auswählen und teilen.',
}
