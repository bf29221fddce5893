import type { pasteTexts as en } from '../en/paste.ts'

const schedules = (count: number, text: string) => (count === 1 ? '1 Zeitplan' : `${text} Zeitpläne`)

export const pasteTexts: typeof en = {
  title: 'Zeitpläne aus einer Tabelle',
  lead: zone =>
    `Die Zeilen in der Tabellenkalkulation kopieren und hier einfügen. Zeiten ohne Zeitzone gelten in ${zone}.`,
  paste: 'Eingefügte Zeilen',
  placeholder: 'Hier einfügen (Strg+V)',
  headings: 'Die erste Zeile kann die Spalten in beliebiger Folge benennen. Ohne Namen gelten:',
  copyHeadings: 'Überschriften kopieren',
  columns: {
    name: 'Name',
    repeats: 'Wiederholung',
    interval: 'Intervall',
    days: 'Tage',
    start: 'Beginn',
    until: 'Bis',
    timezone: 'Zeitzone',
    minutes: 'Minuten',
    assignee: 'Zuständig',
    vehicle: 'Fahrzeug',
    team: 'Team',
    hub: 'Standort',
  },
  cell: (column, row) => `${column}, Zeile ${row}`,
  remove: row => `Zeile ${row} entfernen`,
  count: (count, text) => `${count === 1 ? '1 Zeile' : `${text} Zeilen`}.`,
  wrong: (count, text) => (count === 1 ? '1 ist zu berichtigen.' : `${text} sind zu berichtigen.`),
  past: (count, text) =>
    count === 1
      ? '1 beginnt in der Vergangenheit: Auch vergangene Aufgaben werden angelegt.'
      : `${text} beginnen in der Vergangenheit: Auch vergangene Aufgaben werden angelegt.`,
  unknownColumns: names => `Ausgelassen, weil keine Spalte so heißt: ${names}.`,
  tooMany: text => `Nur die ersten ${text} Zeilen wurden übernommen. Die übrigen danach einfügen.`,
  create: (count, text) => `${schedules(count, text)} anlegen`,
  created: (count, text) => `${schedules(count, text)} angelegt.`,
  startOver: 'Von vorn',
  problems: {
    required: 'Erforderlich.',
    long: 'Höchstens 100 Zeichen.',
    repeats: 'Täglich, wöchentlich, monatlich, jährlich oder eine Regel mit FREQ=.',
    interval: 'Eine ganze Zahl von 1 bis 999.',
    weekdays: 'Wochentage, zum Beispiel Mo, Do.',
    monthDays: 'Tage des Monats von 1 bis 31 oder letzter.',
    time: 'In der Form 2026-12-01 09:00.',
    before: 'Vor dem Beginn.',
    zone: 'Diese Zeitzone gibt es nicht. Beispiel: Europe/Berlin.',
    minutes: 'Eine Zahl von Minuten.',
    unknown: 'Nichts heißt so.',
    several: 'Mehreres heißt so.',
  },
}
