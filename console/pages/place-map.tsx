import { useEffect, useRef } from 'react'
import { answered, api } from '../api/client.ts'
import { useMap } from '../map/use-map.ts'
import { type PlaceDraft, usePlaceFieldTexts } from './place-draft.ts'

const ZOOM = 14
/** Seven digits of a degree are a centimetre. */
const DIGITS = 7
const loadNothing = async () => null

/** A map on which a click sets the place. Its address is asked for, unless one was written before. */
export default function PlaceMap(props: { value: PlaceDraft; onChange: (place: PlaceDraft) => void }) {
  const { value } = props
  const t = usePlaceFieldTexts()
  const container = useRef<HTMLElement>(null)
  const pin = useRef<HTMLElement>(null)
  const { opened, failed } = useMap(container, loadNothing)
  const latest = useRef(props)
  /** The address that the last click has found. */
  const named = useRef('')
  latest.current = props
  const { lat, lng } = value

  useEffect(() => {
    if (!opened) return
    const { map } = opened
    const { value } = latest.current
    map.resize()
    if (value.lat !== null && value.lng !== null) map.jumpTo({ center: [value.lng, value.lat], zoom: ZOOM })
    else void goToHubs(center => map.jumpTo(center))
    const onClick = ({ lngLat }: { lngLat: { lat: number; lng: number } }) => {
      const [lat, lng] = [lngLat.lat, ((((lngLat.lng + 180) % 360) + 360) % 360) - 180].map(degrees =>
        Number(degrees.toFixed(DIGITS)),
      ) as [number, number]
      const before = latest.current.value.address
      // An address that somebody has written stays.
      const isOurs = before === '' || before === named.current
      const address = isOurs ? '' : before
      latest.current.onChange({ lat, lng, address })
      if (!isOurs) return
      void nameOf(lat, lng).then(name => {
        const now = latest.current.value
        if (name === '' || now.address !== '' || now.lat !== lat || now.lng !== lng) return
        named.current = name
        latest.current.onChange({ lat, lng, address: name })
      })
    }
    map.on('click', onClick)
    return () => void map.off('click', onClick)
  }, [opened])

  useEffect(() => {
    if (!opened || !pin.current) return
    const { map } = opened
    const one = pin.current
    const place = () => {
      one.hidden = lat === null || lng === null
      if (lat === null || lng === null) return
      const { x, y } = map.project([lng, lat])
      one.style.translate = `${x}px ${y}px`
    }
    place()
    map.on('move', place)
    map.on('resize', place)
    return () => {
      map.off('move', place)
      map.off('resize', place)
    }
  }, [opened, lat, lng])

  return (
    <div className="place-map map">
      <section className="map-canvas" ref={container} aria-label={t.map} />
      <i className="place-pin" ref={pin} hidden />
      <p className="map-note">{failed ? t.noWebgl : t.pickHint}</p>
    </div>
  )
}

async function goToHubs(go: (view: { center: [number, number]; zoom: number }) => void): Promise<void> {
  const query = { limit: 1 }
  const { data } = await answered(api.GET('/api/v3/hubs', { params: { query } })).catch(() => ({ data: [] }))
  const [hub] = data
  if (hub) go({ center: [hub.lng, hub.lat], zoom: ZOOM - 2 })
}

async function nameOf(lat: number, lng: number): Promise<string> {
  const query = { lat, lng }
  const { data } = await answered(api.GET('/api/v3/places', { params: { query } })).catch(() => ({
    data: [],
  }))
  return data[0]?.name ?? ''
}
