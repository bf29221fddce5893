import { Map as MapLibre } from 'maplibre-gl'

/**
 * A map whose frames the overlay schedules together with its own. MapLibre has no option for that (maplibre-gl-js#4213 asks for
 * one). It requests each of its frames by its public method `triggerRepaint`, which this class overrides
 * (test/console/paced-map.test.ts).
 */
export class PacedMap extends MapLibre {
  /** Absent while MapLibre's constructor runs. */
  private request?: (() => void) | undefined

  /** Calls `request` instead of drawing, whenever the map wants a frame: it is drawn by `redraw()`. Undefined ends that. */
  setPace(request: (() => void) | undefined): void {
    this.request = request
    if (!request) this.triggerRepaint()
  }

  override triggerRepaint(): void {
    if (this.request) this.request()
    else super.triggerRepaint()
  }
}
