/** What a click on the map looks for. */
export const FENCE_LAYER = 'fences'
