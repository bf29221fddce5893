import '../styles/place-field.css'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { Button, ComboBox, Input, Label, ListBox, ListBoxItem, Popover, Text } from 'react-aria-components'
import { answered, api } from '../api/client.ts'
import { lazyWithRetry } from '../api/lazy-with-retry.ts'
import { Icon } from '../parts/icon.tsx'
import { ActionButton, FieldErrorText } from '../parts/parts.tsx'
import { useDebounced } from '../parts/use-debounced.ts'
import { NO_PLACE, type PlaceDraft, readPoint, usePlaceFieldTexts } from './place-draft.ts'

const PlaceMap = lazyWithRetry(() => import('./place-map.tsx'))

/** The server's limit for a search of places. */
const MAX_SEARCH = 100
const MIN_LETTERS = 3

interface Found {
  id: string
  name: string
  lat: number
  lng: number
}

function useFoundPlaces(text: string, near: PlaceDraft): Found[] {
  const search = useDebounced(text.trim().slice(0, MAX_SEARCH))
  const { data } = useQuery<Found[]>({
    queryKey: ['places', 'search', search],
    enabled: search.length >= MIN_LETTERS,
    placeholderData: before => before,
    queryFn: async ({ signal }) => {
      const at = near.lat === null || near.lng === null ? {} : { lat: near.lat, lng: near.lng }
      const query = { search, ...at }
      const { data } = await answered(api.GET('/api/v3/places', { params: { query }, signal }))
      return data.flatMap((one, index): Found[] =>
        one && one.lat !== undefined && one.lng !== undefined
          ? [{ id: `${index}`, name: one.name, lat: one.lat, lng: one.lng }]
          : [],
      )
    },
  })
  return search.length >= MIN_LETTERS ? (data ?? []) : []
}

/** A place by its name, or by a click on the map. */
export function PlaceField(props: {
  label: string
  name: string
  value: PlaceDraft
  onChange: (place: PlaceDraft) => void
}) {
  const { label, name, value, onChange } = props
  const t = usePlaceFieldTexts()
  const [isOnMap, setOnMap] = useState(false)
  const [isTyping, setTyping] = useState(false)
  const found = useFoundPlaces(isTyping ? value.address : '', value)
  const choose = (id: unknown) => {
    const place = found.find(one => one.id === id)
    setTyping(false)
    if (place) onChange({ lat: place.lat, lng: place.lng, address: place.name })
  }
  const hasPoint = value.lat !== null && value.lng !== null
  return (
    <div className="place-field">
      <ComboBox
        className="field"
        name={name}
        items={found}
        inputValue={value.address}
        onInputChange={address => {
          if (address === value.address) return
          setTyping(true)
          onChange({ ...value, ...readPoint(address), address })
        }}
        selectedKey={null}
        onSelectionChange={choose}
        allowsCustomValue
        menuTrigger="input"
      >
        <Label>{label}</Label>
        <div className="place-input">
          <Input maxLength={500} />
          <Button className="button quiet square" aria-label={t.places}>
            <Icon name="down" />
          </Button>
        </div>
        <Text slot="description" className="hint">
          {hasPoint ? `${value.lat?.toFixed(5)}, ${value.lng?.toFixed(5)}` : t.addressHint}
        </Text>
        <FieldErrorText />
        <Popover className="popover choose-record">
          <ListBox className="menu" aria-label={t.places}>
            {(place: Found) => (
              <ListBoxItem id={place.id} textValue={place.name} className="menu-item">
                {place.name}
              </ListBoxItem>
            )}
          </ListBox>
        </Popover>
      </ComboBox>
      <div className="row-of-buttons">
        <ActionButton looks="quiet" icon="map" onPress={() => setOnMap(!isOnMap)}>
          {isOnMap ? t.offMap : t.onMap}
        </ActionButton>
        {(hasPoint || value.address !== '') && (
          <ActionButton looks="quiet" icon="close" onPress={() => onChange(NO_PLACE)}>
            {t.removePlace}
          </ActionButton>
        )}
      </div>
      {isOnMap && (
        <Suspense fallback={<div className="place-map" />}>
          <PlaceMap value={value} onChange={onChange} />
        </Suspense>
      )}
    </div>
  )
}
