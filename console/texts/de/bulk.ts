import type { BulkTexts } from '../en/bulk.ts'

export const bulkTexts: BulkTexts = {
  choose: name => `${name} auswählen`,
  chooseAll: 'Alle gezeigten auswählen',
  chosen: (count, text) => (count === 1 ? '1 ausgewählt' : `${text} ausgewählt`),
  bar: 'Die ausgewählten',
  hub: 'Hub ändern',
  noHub: 'Kein Hub',
  clear: 'Auswahl aufheben',
  deleteAsk: (count, text, names) =>
    count === 1
      ? `${names} löschen?`
      : `Diese ${text} löschen: ${names}? Das lässt sich nicht rückgängig machen.`,
  andMore: (names, more) => `${names} und ${more} weitere`,
  moved: (count, text, hub) =>
    count === 1 ? `1 nach ${hub} verschoben.` : `${text} nach ${hub} verschoben.`,
  taken: (count, text) => (count === 1 ? '1 aus seinem Hub genommen.' : `${text} aus ihren Hubs genommen.`),
  failed: (count, text) =>
    count === 1
      ? '1 ließ sich nicht ändern und ist noch ausgewählt.'
      : `${text} ließen sich nicht ändern und sind noch ausgewählt.`,
  all: what => `${what}: alle`,
  resetFilters: 'Filter zurücksetzen',
}
