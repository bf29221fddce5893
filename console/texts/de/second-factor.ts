import type { SecondFactorTexts } from '../en/second-factor.ts'

export const secondFactorTexts: SecondFactorTexts = {
  title: 'Zweiter Faktor',
  offLead:
    'Mit einem zweiten Faktor verlangt die Anmeldung auch einen Code einer App auf Ihrem Telefon. Er gilt in allen Ihren Organisationen.',
  onLead: 'Die Anmeldung verlangt auch einen Code Ihrer App, in allen Ihren Organisationen.',
  isOn: 'Eingeschaltet',
  setUp: 'Zweiten Faktor einrichten',
  scanLead:
    'Scannen Sie dieses Bild mit einer App, die Codes zeigt, etwa der Ihres Telefons oder Ihres Passwortmanagers, oder tippen Sie den Schlüssel dort ein.',
  scan: 'Bild des Schlüssels für die Kamera der App',
  key: 'Schlüssel',
  open: 'In einer App auf diesem Gerät öffnen',
  codeLead: 'Geben Sie dann den Code ein, den die App zeigt.',
  code: 'Code',
  wrongCode: 'Das ist nicht der Code, den die App jetzt zeigt.',
  confirm: 'Einschalten',
  codes: 'Wiederherstellungscodes',
  codesLead:
    'Jeder dieser Codes öffnet Ihr Konto einmal ohne die App. Bewahren Sie sie dort auf, wo Sie sie ohne Ihr Telefon finden. Sie werden nicht noch einmal gezeigt.',
  copyAll: 'Alle kopieren',
  copied: 'Kopiert',
  download: 'Herunterladen',
  file: 'fieldline-wiederherstellungscodes.txt',
  kept: 'Ich habe sie aufbewahrt',
  left: count =>
    count === 1
      ? 'Es ist noch 1 Wiederherstellungscode übrig.'
      : `Es sind noch ${count} Wiederherstellungscodes übrig.`,
  few: 'Entfernen Sie den zweiten Faktor und richten Sie ihn neu ein, um neue zu bekommen.',
  remove: 'Entfernen',
  removeTitle: 'Zweiten Faktor entfernen',
  removeLead:
    'Danach genügt das Passwort. Die Wiederherstellungscodes entfallen, und Ihre anderen Sitzungen enden.',
  password: 'Jetziges Passwort',
  wrongPassword: 'Das ist nicht Ihr jetziges Passwort.',
  anyCode: 'Code der App oder ein Wiederherstellungscode',
  wrongAnyCode: 'Dieser Code ist falsch, zu alt oder schon verwendet.',
  demanded: organization => `${organization} verlangt einen zweiten Faktor`,
  thisOrganization: 'Diese Organisation',
  demandedLead:
    'Richten Sie einen ein, um fortzufahren. Das dauert eine Minute und braucht eine App auf Ihrem Telefon, die Codes zeigt.',
  goTo: organization => `Stattdessen zu ${organization}`,
  signOut: 'Abmelden',
  demandLead:
    'Wer keinen zweiten Faktor hat, erreicht in dieser Organisation nichts, bis er einen eingerichtet hat. API-Schlüssel betrifft das nicht, ebenso wenig Personen, die der Anbieter anmeldet.',
  demand: 'Zweiten Faktor verlangen',
  demandAsk: (count, areNamed) =>
    count === 1
      ? `Eine Person hat keinen und würde sofort ausgesperrt${areNamed ? ':' : '.'}`
      : `${count} Personen haben keinen und würden sofort ausgesperrt${areNamed ? ':' : '.'}`,
  demandNobody: 'Alle haben einen. Ab jetzt verlangen?',
  others: count => (count === 1 ? 'und 1 weitere' : `und ${count} weitere`),
  alsoYou: 'Sie gehören dazu: Als Nächstes richten Sie einen ein.',
  demandYes: 'Verlangen',
  isDemanded: 'Diese Organisation verlangt einen zweiten Faktor.',
  noLonger: 'Nicht mehr verlangen',
}
