import type { ScaleControl } from 'maplibre-gl'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { alsoPreload, orAskToReload } from '../api/lazy-with-retry.ts'
import { onTheme } from '../preferences.ts'
import { useFormat, useTexts } from '../texts/texts.tsx'
import { onBasemapSetting } from './basemap-setting.ts'
import { readMapColors } from './colors.ts'
import type { View } from './maplibre.ts'
import type { PacedMap } from './paced-map.ts'

const RETRY_MS = 3_000

const loadParts = () => [import('./maplibre.ts'), import('./basemap.ts'), import('./world.ts')] as const

// The code and the threads of MapLibre are ready before somebody has signed in.
alsoPreload(async () => (await Promise.all(loadParts()))[0].prewarm())

interface Opened<T> {
  map: PacedMap
  scale: ScaleControl
  loaded: T
  /** Draws the map anew, in the colours and the language of the page. */
  restyle: () => void
}

const hasWebgl = () => document.createElement('canvas').getContext('webgl2') !== null

/**
 * Opens a map in an element, once, in the colours of the theme, and loads the parts of `load` meanwhile. `failed` means that
 * this browser cannot draw one. A hidden page has no map; when it is visible again, a new map shows the same view.
 */
export function useMap<T>(container: RefObject<HTMLElement | null>, load: () => Promise<T>) {
  const [opened, setOpened] = useState<Opened<T> | null>(null)
  const [failed, setFailed] = useState(false)
  const { mapWords } = useTexts()
  const words = useRef(mapWords)
  const { units } = useFormat()
  const view = useRef<View>(undefined)

  useEffect(() => {
    let close = () => {}
    let gone = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const open = async () => {
      const [{ openMap }, { createStyle }, { refineWorld }, loaded] = await orAskToReload(
        Promise.all([...loadParts(), load()]),
      )
      if (gone || !container.current) return
      const { map, scale } = await openMap(container.current, readMapColors(), words.current, view.current)
      if (gone) return map.remove()
      const unrefine = refineWorld(map)
      const restyle = () => void createStyle(readMapColors()).then(style => map.setStyle(style))
      const unfollow = [onTheme(restyle), onBasemapSetting(restyle)]
      close = () => {
        for (const stop of unfollow) stop()
        unrefine()
        view.current = { center: map.getCenter(), zoom: map.getZoom() }
        map.remove()
      }
      setOpened({ map, scale, loaded, restyle })
    }
    const attempt = () => {
      open().catch(() => {
        // Without WebGL another attempt does not help; without the server it does.
        if (!hasWebgl()) setFailed(true)
        else if (!gone) timer = setTimeout(attempt, RETRY_MS)
      })
    }
    attempt()
    return () => {
      gone = true
      clearTimeout(timer)
      setOpened(null)
      close()
    }
  }, [container, load])

  useEffect(() => opened?.scale.setUnit(units), [opened, units])
  useEffect(() => {
    // The map that is opened next has these words, and names of places in this language.
    if (words.current === mapWords) return
    words.current = mapWords
    opened?.map.getCanvas().setAttribute('aria-label', mapWords.canvas)
    opened?.restyle()
  }, [opened, mapWords])

  return { opened, failed }
}
