import type { subjectWorkTexts as en } from '../en/subject-work.ts'

export const subjectWorkTexts: typeof en = {
  underWay: 'Aktuelle Aufgabe',
  next: time => `Nächste Aufgabe um ${time}`,
}
