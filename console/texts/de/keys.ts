import type { KeyTexts } from '../en/keys.ts'

export const keyTexts: KeyTexts = {
  title: 'Tastatur',
  palette: 'Alles suchen, überall hin',
  search: 'Auf dieser Seite suchen',
  next: 'Nächstes auf der Live-Karte',
  previous: 'Voriges auf der Live-Karte',
  follow: 'Folgen oder nicht mehr folgen',
  assign: 'Ausgewählte Aufgaben zuweisen',
  newTask: 'Neue Aufgabe, auf der Seite der Aufgaben',
  close: 'Schließen',
  help: 'Diese Tasten',
  single: 'Einzelne Tasten wirken außerhalb von Feldern',
}
