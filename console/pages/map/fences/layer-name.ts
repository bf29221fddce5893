/** The layer in which a click finds geofences. */
export const FENCE_LAYER = 'fences'
