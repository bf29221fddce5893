import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { IconButton } from '../../parts/parts.tsx'
import { getPreferences, onPreferences, setPreferences } from '../../preferences.ts'
import { useTexts } from '../../texts/texts.tsx'

/** From this zoom on people look for streets. */
const NEAR_ZOOM = 11

/** The base map is a setting of the server. The hint about it is shown at close zoom until it is dismissed. */
export default function StreetsHint({ map }: { map: MapLibre }) {
  const { map: t, form } = useTexts()
  const isWanted = useSyncExternalStore(onPreferences, () => getPreferences().streetsHint)
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    const look = () => setNear(map.getZoom() >= NEAR_ZOOM)
    look()
    map.on('zoomend', look)
    return () => void map.off('zoomend', look)
  }, [map])
  if (!isWanted || !isNear) return null
  return (
    <p className="streets-hint hint">
      {t.noStreets}
      <IconButton icon="close" label={form.close} onPress={() => setPreferences({ streetsHint: false })} />
    </p>
  )
}
