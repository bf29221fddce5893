import type { Map as MapLibre } from 'maplibre-gl'
import { Suspense, useEffect, useState, useSyncExternalStore } from 'react'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { hasTilesAt, onBasemapSetting, readBasemapSetting } from '../../map/basemap-setting.ts'
import { ActionButton, IconButton } from '../../parts/parts.tsx'
import { getPreferences, onPreferences, setPreferences } from '../../preferences.ts'
import { useTexts } from '../../texts/texts.tsx'

const BasemapDialog = lazyWithRetry(() => import('./basemap-dialog.tsx'))

/** From this zoom on people look for streets. */
const NEAR_ZOOM = 11

/** Offers streets at close zoom where there are none, until that is dismissed. */
export default function StreetsHint({ map }: { map: MapLibre }) {
  const { map: t, form } = useTexts()
  const isWanted = useSyncExternalStore(onPreferences, () => getPreferences().streetsHint)
  const [isWithout, setWithout] = useState(false)
  const [isChoosing, setChoosing] = useState(false)
  useEffect(() => {
    const look = () =>
      setWithout(map.getZoom() >= NEAR_ZOOM && !hasTilesAt(readBasemapSetting(), map.getCenter()))
    look()
    map.on('moveend', look)
    const unfollow = onBasemapSetting(look)
    return () => {
      map.off('moveend', look)
      unfollow()
    }
  }, [map])
  return (
    <>
      {isWanted && isWithout && (
        <p className="streets-hint hint">
          {t.noStreets}
          <ActionButton looks="quiet" onPress={() => setChoosing(true)}>
            {t.chooseStreets}
          </ActionButton>
          <IconButton
            icon="close"
            label={form.close}
            onPress={() => setPreferences({ streetsHint: false })}
          />
        </p>
      )}
      {isChoosing && (
        <Suspense>
          <BasemapDialog onClose={() => setChoosing(false)} />
        </Suspense>
      )}
    </>
  )
}
