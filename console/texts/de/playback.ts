import type { PlaybackTexts } from '../en/playback.ts'

export const playbackTexts: PlaybackTexts = {
  forbidden: 'Ihre Rolle darf keine Positionen sehen.',
  choose: 'Zur Wiedergabe hinzufügen',
  chosen: 'In der Wiedergabe',
  nobody: 'Keine Treffer',
  full: n => `Höchstens ${n} gleichzeitig. Zum Hinzufügen erst etwas entfernen.`,
  remove: name => `${name} entfernen`,
  types: { device: 'Gerät', user: 'Person', vehicle: 'Fahrzeug' },
  day: 'Tag',
  before: 'Vorheriger Tag',
  after: 'Nächster Tag',
  map: 'Karte der Wege. Die Liste der Fahrten und Stopps enthält dieselben Angaben.',
  noWebgl:
    'Dieser Browser kann keine Karte anzeigen (WebGL 2 ist aus). Diagramm und Liste funktionieren trotzdem.',
  chart: 'Tempo im Tagesverlauf',
  time: 'Zeit',
  keys: 'Pfeiltasten: 10 Sekunden, mit Umschalt 1 Minute. Bild auf und Bild ab: 10 Minuten. N: nächste Fahrt. Leertaste: Wiedergabe oder Pause. + und −: Zoom. 0: ganzer Tag.',
  nextTrip: 'Nächste Fahrt',
  skipped: (duration, time) => `${duration} ohne Position übersprungen, weiter um ${time}`,
  closer: 'Zeitachse vergrößern',
  further: 'Zeitachse verkleinern',
  whole: 'Ganzer Tag',
  play: 'Abspielen',
  pause: 'Pause',
  rate: 'Wiedergabetempo',
  times: n => `${n}×`,
  parts: 'Fahrten und Stopps',
  trip: 'Fahrt',
  max: speed => `max. ${speed}`,
  stop: 'Stopp',
  sums: (trips, stops) =>
    `${trips} ${trips === 1 ? 'Fahrt' : 'Fahrten'}, ${stops} ${stops === 1 ? 'Stopp' : 'Stopps'}`,
  noTrips: distance => `Keine Fahrt über ${distance}, kein Stopp über 5 Minuten.`,
  unknown: 'keine Position',
  notYet: 'noch nicht',
  start: 'Wessen Tag möchten Sie sehen?',
  startHint: 'Wählen Sie bis zu sechs Geräte, Personen oder Fahrzeuge für die gemeinsame Wiedergabe.',
  noSubjects: 'Noch nichts wiederzugeben',
  noSubjectsHint:
    'Sobald ein Gerät seine erste Position sendet, bleiben seine Tage hier ein Jahr lang abrufbar.',
  newDay: 'Ein neuer Tag hat begonnen:',
  empty: day => `Am ${day} wurde nichts aufgezeichnet`,
  allWrong: (count, day, isAll) =>
    !isAll
      ? `Alle der mehr als ${count} Positionen vom ${day} sind Ausreißer`
      : count === '1'
        ? `Die einzige Position vom ${day} ist ein Ausreißer`
        : `Alle ${count} Positionen vom ${day} sind Ausreißer`,
  allWrongHint:
    'Sie liegen in zu kurzer Zeit zu weit auseinander oder sind ungenauer, als Ihre Organisation zulässt.',
  showThem: 'Auf der Karte anzeigen',
  emptyHint: 'Versuchen Sie es mit einem anderen Tag oder einer anderen Auswahl.',
  newest: (name, day) => `${name}: ${day}`,
  reduced: count => `Angezeigt werden die ${count} aussagekräftigsten Punkte. Der Download enthält alle.`,
  anomalies: 'Ausreißer',
  noAnomalies: 'Keine Ausreißer an diesem Tag.',
  someAnomalies: (count, isAll) => `${isAll ? '' : 'Mindestens '}${count}, als rote Punkte markiert`,
  download: 'Herunterladen',
  formats: { gpx: 'GPX', geojson: 'GeoJSON', csv: 'CSV' },
}
