/** The texts of a field for a place, which are loaded with it. */
export const placeFieldTexts = {
  addressHint: 'A street or town, a latitude and longitude, or a point on the map.',
  onMap: 'Choose on the map',
  offMap: 'Hide the map',
  pickHint: 'Click the map where it is.',
  removePlace: 'Remove the place',
  places: 'Places found',
  noWebgl: 'This browser can’t draw maps.',
  map: 'Map',
}

export type PlaceFieldTexts = typeof placeFieldTexts
