import type { Map as MapLibre } from 'maplibre-gl'
import { SampleNote } from './sample-data.tsx'
import StreetsHint from './streets-hint.tsx'

/** The hints beside the map for users who may change the organization. */
export default function MapHints({ map }: { map: MapLibre }) {
  return (
    <>
      <StreetsHint map={map} />
      <SampleNote />
    </>
  )
}
