import type { ScheduleTexts } from '../en/schedules.ts'

const UNITS = { daily: 'Tag', weekly: 'Woche', monthly: 'Monat', yearly: 'Jahr' }
const PLURALS = { daily: 'Tage', weekly: 'Wochen', monthly: 'Monate', yearly: 'Jahre' }

export const scheduleTexts: ScheduleTexts = {
  title: 'Zeitpläne',
  lead: 'Aufgaben, die immer wiederkommen.',
  create: 'Neuer Zeitplan',
  fromTable: 'Aus einer Tabelle',
  none: 'Noch keine Zeitpläne',
  noneHint: 'Ein Zeitplan legt zu jeder seiner Zeiten eine Aufgabe an.',
  name: 'Name der Aufgaben',
  repeats: 'Wiederholung',
  next: 'Nächste Aufgabe',
  trouble: 'Die nächste Aufgabe konnte nicht angelegt werden:',
  deleteAsk: name => `${name} löschen? Die angelegten Aufgaben bleiben.`,
  every: 'Alle',
  interval: 'Abstand',
  unit: 'Einheit',
  units: (unit, count) => (count === 1 ? UNITS : PLURALS)[unit],
  on: 'am',
  weekdays: 'Wochentage',
  monthDays: 'Tage des Monats',
  lastDay: 'letzter',
  from: 'Ab',
  until: 'Bis',
  zone: 'Zeitzone',
  lasts: 'Minuten je Aufgabe',
  flow: 'Ablauf',
  usualFlow: 'Der übliche Ablauf',
  rule: 'Regel (RFC 5545)',
  sentence: ({ every, on, at, zone, until }) =>
    `${every}${on && `, ${on}`}, um ${at}, ${zone}${until && `, bis ${until}`}`,
  everyUnit: (unit, count) =>
    count > 1
      ? `Alle ${count} ${PLURALS[unit]}`
      : { daily: 'Täglich', weekly: 'Wöchentlich', monthly: 'Monatlich', yearly: 'Jährlich' }[unit],
  day: day => (day === -1 ? 'am letzten Tag' : `am ${day}.`),
  preview: 'Die nächsten zehn Zeiten',
  noneLeft: 'Es folgen keine Zeiten mehr.',
  clockChange: 'davor werden die Uhren umgestellt',
  past: count => `${count} Zeiten sind schon vorbei: auch ihre Aufgaben werden angelegt.`,
  assignee: 'Zuständig',
  vehicle: 'Fahrzeug',
  team: 'Team',
  place: 'Ort',
  records: 'Datensätze',
}
