import type { WelcomeTexts } from '../en/welcome.ts'

export const welcomeTexts: WelcomeTexts = {
  title: 'Noch nichts auf der Karte',
  lead: 'Fügen Sie ein Gerät hinzu und tragen Sie seine Einstellungen in eine Telefon-App oder einen Tracker ein. Mit der ersten Position erscheint es hier.',
  name: 'Gerätename',
  placeholder: 'Transporter 12',
  create: 'Gerät hinzufügen',
  silent: name => `${name} hat noch nichts gesendet.`,
  goOn: 'Einrichtung fortsetzen',
  fleet: 'Oder eine Flotte fahren sehen',
  fleetLead:
    'Auf dem Server ausführen. Zwanzig Fahrzeuge fahren durch San Francisco und melden sich über echte Verbindungen.',
  fleetPassword: 'IHR_PASSWORT',
  noPermission: 'Ihre Rolle darf keine Geräte hinzufügen. Bitte wenden Sie sich an einen Administrator.',
}
