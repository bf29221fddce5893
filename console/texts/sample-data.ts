/** The texts of the sample company, which load with its own part of the page. */
const en = {
  title: 'Look around first',
  lead: 'A company in San Francisco with vehicles, drivers, customers, tasks and two weeks of history. One click removes it again.',
  create: 'Create the sample company',
  creating: (percent: string) => `The sample company is being created: ${percent}`,
  there: 'This is sample data.',
  failed: 'The sample company could not be created. Delete it, and try again.',
  remove: 'Delete sample data',
}

const de: typeof en = {
  title: 'Erst einmal umsehen',
  lead: 'Eine Firma in San Francisco mit Fahrzeugen, Fahrern, Kunden, Aufgaben und zwei Wochen Verlauf. Ein Klick entfernt sie wieder.',
  create: 'Beispielfirma anlegen',
  creating: percent => `Die Beispielfirma wird angelegt: ${percent}`,
  there: 'Das sind Beispieldaten.',
  failed: 'Die Beispielfirma konnte nicht angelegt werden. Löschen Sie sie, und versuchen Sie es erneut.',
  remove: 'Beispieldaten löschen',
}

export const sampleDataTexts = (locale: string) => (locale.startsWith('de') ? de : en)
