import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { hasTilesAt, readBasemapSetting } from '../../map/basemap-setting.ts'
import { IconButton } from '../../parts/parts.tsx'
import { getPreferences, onPreferences, setPreferences } from '../../preferences.ts'
import { useTexts } from '../../texts/texts.tsx'

/** From this zoom on people look for streets. */
const NEAR_ZOOM = 11

/** The base map is a setting of the server. The hint about it is shown at close zoom where there are no streets, until it is dismissed. */
export default function StreetsHint({ map }: { map: MapLibre }) {
  const { map: t, form } = useTexts()
  const isWanted = useSyncExternalStore(onPreferences, () => getPreferences().streetsHint)
  const [isWithout, setWithout] = useState(false)
  useEffect(() => {
    const setting = readBasemapSetting()
    const look = () => setWithout(map.getZoom() >= NEAR_ZOOM && !hasTilesAt(setting, map.getCenter()))
    look()
    map.on('moveend', look)
    return () => void map.off('moveend', look)
  }, [map])
  if (!isWanted || !isWithout) return null
  return (
    <p className="streets-hint hint">
      {t.noStreets}
      <IconButton icon="close" label={form.close} onPress={() => setPreferences({ streetsHint: false })} />
    </p>
  )
}
