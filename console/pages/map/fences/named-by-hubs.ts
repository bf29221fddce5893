import { createInside, type Shape } from '../../../map/areas.ts'

interface Fence {
  _id: string
  name: string
  shape: Shape
}
interface Hub {
  name: string
  lat: number
  lng: number
}

/** The geofences around a hub of their own name, which is on the map already. */
export function namedByHubs(fences: readonly Fence[], hubs: readonly Hub[]): ReadonlySet<string> {
  const names = new Set(hubs.map(({ name }) => name))
  const named = fences.filter(fence => {
    if (!names.has(fence.name)) return false
    const isInside = createInside(fence.shape)
    return hubs.some(hub => hub.name === fence.name && isInside(hub))
  })
  return new Set(named.map(({ _id }) => _id))
}
