import type { ErrorTexts } from '../errors.ts'

export const errorTexts: ErrorTexts = {
  failures: {
    'invalid-input': 'Eine Eingabe ist ungültig:',
    'malformed-request': 'Der Server kann diese Anfrage nicht lesen.',
    unauthorized: 'Ihre Sitzung ist beendet. Bitte erneut anmelden.',
    'wrong-credentials': 'E-Mail-Adresse oder Passwort ist falsch.',
    'totp-required': 'Geben Sie den Code Ihrer App ein.',
    'wrong-code': 'Der Code ist falsch, zu alt oder schon verwendet.',
    'challenge-ended': 'Diese Anmeldung ist beendet. Bitte erneut mit dem Passwort beginnen.',
    'single-sign-on-failed':
      'Die Anmeldung beim Anbieter dauerte zu lange oder wurde abgelehnt. Bitte erneut beginnen.',
    'second-factor-required': 'Diese Organisation verlangt einen zweiten Faktor.',
    'single-sign-on-required': 'Passwörter sind hier nicht zugelassen. Melden Sie sich beim Anbieter an.',
    'address-not-verified':
      'Der Anbieter hat Ihre E-Mail-Adresse nicht bestätigt. Bestätigen Sie sie dort und beginnen Sie erneut.',
    'other-identity':
      'Dieses Konto gehört zu einer anderen Identität beim Anbieter. Bitte einen Administrator fragen.',
    forbidden: ({ permission }) =>
      permission ? `Ihrer Rolle fehlt die Berechtigung ${permission}.` : 'Das dürfen Sie nicht:',
    'no-organization':
      'Dieses Konto ist in keiner Organisation aktiv. Bitten Sie einen Administrator um eine Einladung oder registrieren Sie eine neue Organisation.',
    'restricted-field': 'Eines dieser Felder darf Ihre Rolle nicht sehen.',
    'not-found': 'Das gibt es nicht oder nicht mehr.',
    'wrong-method': 'Das kann der Server nicht.',
    'not-in-time': 'Die Verbindung ist zu langsam. Bitte erneut versuchen.',
    conflict: 'Das geht im Moment nicht:',
    'not-unique': ({ name }) =>
      name ? `${name} gibt es bereits. Bitte einen anderen Namen wählen.` : 'Das gibt es bereits.',
    'in-use': 'Andere Einträge verweisen noch darauf. Bitte zuerst diese ändern.',
    'reference-deleted':
      'Ein verknüpfter Eintrag wurde gerade gelöscht. Bitte neu laden und erneut versuchen.',
    'too-many-records': ({ limit }) =>
      limit
        ? `Das Maximum von ${limit} ist erreicht. Bitte zuerst etwas löschen.`
        : 'Das Maximum ist erreicht. Bitte zuerst etwas löschen.',
    'too-many-vertices': ({ limit }) =>
      `Alle Polygone zusammen dürfen ${limit} Ecken haben. Bitte mit weniger zeichnen.`,
    'too-large': 'Das ist zu groß.',
    'url-too-long': 'Die Adresse ist zu lang.',
    'unsupported-media-type': 'Diese Art von Datei kann der Server nicht lesen.',
    'bad-range': 'Diesen Teil kann der Server nicht senden.',
    'expectation-failed': 'Das kann der Server nicht.',
    unimportable: 'Diese Datei kann nicht importiert werden:',
    'upgrade-required': 'Das kann der Server nicht.',
    'rate-limited': 'Zu viele Anfragen. Bitte kurz warten.',
    'too-many-attempts': 'Zu viele Fehlversuche. Bitte kurz warten.',
    'headers-too-large': 'Die Anfrage ist zu groß.',
    internal: 'Auf dem Server ist ein Fehler aufgetreten.',
    unavailable: 'Der Server ist gerade ausgelastet. Bitte erneut versuchen.',
  },
  fields: {
    required: 'Bitte ausfüllen.',
    'unknown-field': 'Dieses Feld kennt der Server nicht.',
    'wrong-type': ({ expected }, kinds) => (expected ? `Muss ${kinds[expected]} sein.` : 'Ungültig.'),
    'wrong-format': ({ expected }, kinds) => (expected ? `Muss ${kinds[expected]} sein.` : 'Ungültig:'),
    'not-one-of': ({ choices }) =>
      choices ? `Muss eines davon sein: ${choices.join(', ')}.` : 'Bitte aus der Liste wählen.',
    'too-long': ({ limit }) => (limit ? `Höchstens ${limit} Zeichen.` : 'Zu lang.'),
    'too-short': ({ limit = 1 }) => (limit > 1 ? `Mindestens ${limit} Zeichen.` : 'Darf nicht leer sein.'),
    'too-many': ({ limit }) => (limit ? `Höchstens ${limit} Einträge.` : 'Zu viele.'),
    'too-few': ({ limit = 1 }) => (limit > 1 ? `Mindestens ${limit} Einträge.` : 'Darf nicht leer sein.'),
    'too-large': ({ limit, exclusive }) =>
      limit === undefined
        ? 'Zu groß.'
        : exclusive
          ? `Muss kleiner als ${limit} sein.`
          : `Darf höchstens ${limit} sein.`,
    'too-small': ({ limit, exclusive }) =>
      limit === undefined ? 'Zu klein.' : `Muss ${exclusive ? 'größer als' : 'mindestens'} ${limit} sein.`,
    'too-early': 'Bitte einen späteren Zeitpunkt wählen.',
    'too-late': 'Bitte einen früheren Zeitpunkt wählen.',
    'not-multiple': ({ limit }) => `Muss ein Vielfaches von ${limit} sein.`,
    'not-found': 'Das gibt es nicht oder nicht mehr.',
    'not-unique': 'Das gibt es bereits.',
    'already-done': 'Das ist bereits erledigt. Bitte etwas Offenes wählen.',
    'restricted-field': 'Dieses Feld darf Ihre Rolle nicht sehen.',
    blank: 'Muss mindestens ein sichtbares Zeichen enthalten.',
    'hidden-character': 'Enthält ein unsichtbares Zeichen. Bitte neu eingeben.',
    'ambiguous-edge':
      'Eine Kante umspannt die halbe Welt, ihre Richtung ist nicht eindeutig. Bitte eine Ecke dazwischen setzen.',
    'crossed-edges': ({ vertices = [] }) =>
      `Das Polygon überschneidet sich: Die Kanten ab Ecke ${vertices.join(' und Ecke ')} treffen sich.`,
    'reversed-edge': ({ vertices = [] }) => `Das Polygon kehrt an Ecke ${vertices} um.`,
    'area-too-small': ({ limit }) => `Ein Polygon muss mindestens ${limit} m² groß sein.`,
    'area-too-wide': 'Ein Polygon darf nicht um die Welt oder einen Pol gehen.',
    malformed: 'Das kann der Server nicht lesen:',
    invalid: 'Ungültig:',
  },
  kinds: {
    text: 'ein Text',
    number: 'eine Zahl',
    integer: 'eine ganze Zahl',
    boolean: 'wahr oder falsch',
    list: 'eine Liste',
    object: 'ein Objekt',
    time: 'eine Zeit',
    null: 'leer',
    email: 'eine E-Mail-Adresse',
    url: 'eine Webadresse',
    identifier: 'eine Kennung',
    datetime: 'Datum und Uhrzeit',
    date: 'ein Datum',
    'time-of-day': 'eine Uhrzeit',
  },
  unknown: 'Der Server meldet:',
}
