import type { Map as MapLibre } from 'maplibre-gl'
import { SampleNote } from './sample-data.tsx'
import StreetsHint from './streets-hint.tsx'

/** What whoever runs the organization is told beside the map. */
export default function MapHints({ map }: { map: MapLibre }) {
  return (
    <>
      <StreetsHint map={map} />
      <SampleNote />
    </>
  )
}
