import type { FenceEditorTexts } from '../en/fence-editor.ts'

export const fenceEditorTexts: FenceEditorTexts = {
  radius: 'Radius (m)',
  about: distance => `etwa ${distance}`,
  corners: 'Ecken',
  cornersHint: 'Eine pro Zeile: Breitengrad, Längengrad.',
  badCorner: line => `Zeile ${line} muss ein Breiten- und ein Längengrad sein: 52.52, 13.405.`,
  drawCircle: 'Auf der Karte erst die Mitte, dann den Rand anklicken. Oder die Werte hier eingeben.',
  drawPolygon:
    'Die Ecken auf der Karte anklicken; zum Abschließen die erste erneut anklicken oder Enter drücken. Oder hier eingeben.',
  adjustCircle: 'Mitte oder Rand auf der Karte ziehen oder die Werte hier ändern.',
  adjustPolygon:
    'Die Ecken auf der Karte ziehen. Ein Punkt zwischen zwei Ecken fügt eine hinzu, Rechtsklick oder Entf entfernt eine. Der große Punkt verschiebt alles. Oder die Werte hier ändern.',
  fewest: 'Ein Polygon braucht mindestens drei Ecken.',
  stale: 'Diese Werte ergeben noch keine Form. Die Karte zeigt die vorherige gestrichelt.',
  middleOfMap: 'Kartenmitte',
  crosses: (one, other) =>
    `Das Polygon überschneidet sich: Die Kanten ab Ecke ${one} und Ecke ${other} treffen sich.`,
  drawArea: 'Die Ecken des Gebiets anklicken; zum Abschließen die erste erneut anklicken oder Enter drücken.',
  drawByKeys: 'Ohne Maus: Karte mit Pfeiltasten, + und − bewegen.',
  takeView: 'Aktuellen Ausschnitt auswählen',
  inView: count => `${count} im Ausschnitt`,
}
