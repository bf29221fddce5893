/** The texts of drawing: of the form of a geofence, and of an area to select. They are loaded with these. */
export const fenceEditorTexts = {
  radius: 'Radius (m)',
  about: (distance: string) => `about ${distance}`,
  corners: 'Corners',
  cornersHint: 'One per line: latitude, longitude.',
  badCorner: (line: number) => `Line ${line} must be a latitude and a longitude: 52.52, 13.405.`,
  drawCircle: 'Click the center on the map, then the edge. Or enter the values here.',
  drawPolygon:
    'Click the corners on the map; click the first again or press Enter to finish. Or enter them here.',
  adjustCircle: 'Drag the center or the edge on the map, or change the values here.',
  adjustPolygon:
    'Drag the corners on the map. Drag a dot between two corners to add one; right-click or press Delete to remove one. The large dot moves everything. Or change the values here.',
  fewest: 'A polygon needs at least three corners.',
  stale: 'These values don’t form a shape yet. The map shows the previous one, dashed.',
  middleOfMap: 'Center of the map',
  crosses: (one: number, other: number) =>
    `It crosses itself: the edges from corner ${one} and corner ${other} meet.`,
  drawArea: 'Click the corners of the area; click the first again or press Enter to finish.',
  drawByKeys: 'Without a mouse: arrow keys, + and − move the map.',
  takeView: 'Select the current view',
  inView: (count: string) => `${count} in view`,
}

export type FenceEditorTexts = typeof fenceEditorTexts
