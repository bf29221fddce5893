// The map has no icons of its own: each is a picture that is drawn when the map requests it (pictures.ts). Its identifier holds
// everything about it, so another theme requests other pictures.

export const NAME = ' name '
export const HUB = ' hub'
export const SHIELD = ' shield '
export const ARROW = ' arrow'

/** The `icon-image` of features with a `name`. */
export const namePicture = (color: string) => ['concat', color, NAME, ['get', 'name']]
export const hubPicture = (color: string): string => color + HUB
/** The `icon-image` of roads with a number: a plate of a colour, with an edge and text of the other. */
export const shieldPicture = (color: string, ground: string) => [
  'concat',
  `${color} ${ground}${SHIELD}`,
  ['get', 'shield_text'],
]
/** An arrow to the right, which a line turns into its direction. */
export const arrowPicture = (color: string): string => color + ARROW
