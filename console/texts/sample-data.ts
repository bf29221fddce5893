/** The texts of the sample company, which load with its own part of the page. */
const en = {
  title: 'Look around first',
  lead: 'A company in San Francisco with vehicles, drivers, customers, tasks and two weeks of history. You can delete it again at any time.',
  create: 'Create the sample company',
  creating: (percent: string) => `The sample company is being created: ${percent}`,
  there: 'This is sample data.',
  failed: 'The sample company could not be created. Delete it, and try again.',
  remove: 'Delete sample data',
  ask: 'Delete all sample data? Its vehicles, devices, drivers, customers, places, tasks, tracking links and their whole history go for good. Records of your own stay.',
  yes: 'Delete all of it',
  no: 'Keep it',
}

const de: typeof en = {
  title: 'Erst einmal umsehen',
  lead: 'Eine Firma in San Francisco mit Fahrzeugen, Fahrern, Kunden, Aufgaben und zwei Wochen Verlauf. Sie können sie jederzeit wieder löschen.',
  create: 'Beispielfirma anlegen',
  creating: percent => `Die Beispielfirma wird angelegt: ${percent}`,
  there: 'Das sind Beispieldaten.',
  failed: 'Die Beispielfirma konnte nicht angelegt werden. Löschen Sie sie, und versuchen Sie es erneut.',
  remove: 'Beispieldaten löschen',
  ask: 'Alle Beispieldaten löschen? Ihre Fahrzeuge, Geräte, Fahrer, Kunden, Orte, Aufgaben, Tracking-Links und deren ganzer Verlauf sind dann endgültig weg. Eigene Datensätze bleiben.',
  yes: 'Alles löschen',
  no: 'Behalten',
}

export const sampleDataTexts = (locale: string) => (locale.startsWith('de') ? de : en)
