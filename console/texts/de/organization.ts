import type { OrganizationTexts } from '../en/organization.ts'

/** The texts of the organization's settings, which are loaded with them. */
export const organizationTexts: OrganizationTexts = {
  name: 'Name',
  logo: 'Logo (Adresse eines Bildes)',
  logoHint: 'Programme, die die API benutzen, zeigen es. Die Adresse beginnt mit https://.',
  timeZone: 'Zeitzone',
  timeZoneHint: now =>
    `Dort ist es ${now}. In dieser Zone beginnen und enden Tage und sind alle Zeiten geschrieben.`,
  language: 'Sprache und Region',
  languageHint:
    'Wie Datum, Zeit und Zahlen geschrieben werden. Jede Person kann für sich eine andere Sprache wählen.',
  browserLanguage: 'Die des jeweiligen Browsers',
  currency: 'Währung',
  offline: 'Minuten, nach denen Stilles als offline gilt',
  accuracy: 'Größte Ungenauigkeit in Metern',
  accuracyHint:
    'Ungenauere Punkte werden als Anomalien behalten und fehlen in Spuren und auf der Live-Karte. Leer heißt: keine Grenze.',
  teamPositions: 'Der App OwnTracks die Positionen des Teams senden',
  saved: 'Gespeichert.',
  readOnly: 'Ihre Rolle kann diese Einstellungen sehen, aber nicht ändern.',
  yours: 'Ihre Organisationen',
  here: 'diese hier',
  switchTo: 'Wechseln',
  switchToOf: name => `Zu ${name} wechseln`,
  create: 'Organisation anlegen',
  createLead:
    'Sie werden Owner und arbeiten darin weiter. Beispieldaten folgen im Hintergrund und lassen sich mit einem Klick entfernen.',
  newName: 'Name der Organisation',
  copy: 'Einstellungen, Hubs, eigene Rollen und Abläufe der ersten Organisation kopieren, die Ihnen gehört',
  hub: 'Erster Hub',
  hubNeeded:
    'Ihnen gehört keine Organisation, deren Hubs übernommen werden könnten. Darum braucht die neue einen ersten Hub.',
  hubOptional: 'Leer lassen, um die Hubs der ersten Organisation zu übernehmen, die Ihnen gehört.',
  hubName: 'Name des Hubs',
  hubLat: 'Breitengrad',
  hubLng: 'Längengrad',
  map: 'Karte',
  streets: 'Straßen der Karte',
  end: 'Diese Organisation löschen',
  endLead:
    'Alles darin wird gelöscht und kann nicht zurückgeholt werden. Alle Benutzer und Geräte verlieren sofort den Zugang.',
  endType: name => `Zur Bestätigung ${name} eingeben`,
}
