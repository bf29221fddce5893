import type { dayCopyTexts as en } from '../en/day-copy.ts'

const tasks = (count: number, text: string) => (count === 1 ? '1 Aufgabe' : `${text} Aufgaben`)

export const dayCopyTexts: typeof en = {
  title: day => `Aufgaben von ${day} kopieren`,
  to: 'Auf den Tag',
  withPeople: 'Personen und Fahrzeuge beibehalten',
  preview: (count, text, day) => `Für ${day}: ${tasks(count, text)}, ohne Status und Ergebnisse.`,
  leftOut: (count, text) =>
    count === 1 ? '1 abgesagte Aufgabe entfällt.' : `${text} abgesagte Aufgaben entfallen.`,
  tooMany: text => `Die ersten ${text} werden kopiert. Für die anderen ein Team auswählen.`,
  there: (count, text, day) => `Bereits geplant für ${day}: ${tasks(count, text)}. Daran ändert sich nichts.`,
  windows: zone => `Uhrzeiten bleiben in ${zone} gleich, auch wenn dazwischen die Uhren umgestellt werden.`,
  progress: (done, all) => `${done} von ${all} kopiert.`,
  copied: (count, text, day) => `${tasks(count, text)} auf ${day} kopiert.`,
  notAll: 'Nicht jede Aufgabe konnte kopiert werden:',
  copy: (count, text) => `${tasks(count, text)} kopieren`,
  again: 'Die übrigen kopieren',
}
