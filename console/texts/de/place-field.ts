import type { PlaceFieldTexts } from '../en/place-field.ts'

export const placeFieldTexts: PlaceFieldTexts = {
  addressHint: 'Eine Straße, ein Ort, Breiten- und Längengrad, oder ein Punkt auf der Karte.',
  onMap: 'Auf der Karte wählen',
  offMap: 'Karte ausblenden',
  pickHint: 'Klicken Sie auf der Karte dahin, wo es ist.',
  removePlace: 'Ort entfernen',
  places: 'Gefundene Orte',
  noWebgl: 'Dieser Browser kann keine Karten zeichnen.',
  map: 'Karte',
}
