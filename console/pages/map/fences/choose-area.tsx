import { useState } from 'react'
import { ChooseFound } from '../../../parts/choose-record.tsx'
import { filterByName } from '../../../parts/records.ts'
import { useFenceHints } from '../../../shell/fence-hints.ts'
import { useTexts } from '../../../texts/texts.tsx'
import { areaOf, isDrawn } from './address-area.ts'
import type { Fence } from './fence-queries.ts'

/** More choices would not be read without a letter, and each is an element of the page. */
const SHOWN = 100

interface Props {
  fences: readonly Fence[]
  /** Whether all geofences are loaded. */
  isWhole: boolean
  value: string
  onChange: (area: string) => void
}

/** Chooses a geofence as the area by its name. A drawn area is one of the choices while it is selected. */
export default function ChooseArea({ fences, isWhole, value, onChange }: Props) {
  const { fences: t, form } = useTexts()
  const [text, setText] = useState('')
  const wanted = text.trim()
  const others = [{ id: '', name: t.anywhere }, ...(isDrawn(value) ? [{ id: value, name: t.drawn }] : [])]
  const hints = useFenceHints()(fences)
  const areas = fences.map(({ _id, name }) => ({ id: areaOf(_id), name, hint: hints.get(_id) }))
  const found = filterByName(areas, wanted).slice(0, SHOWN)
  return (
    <ChooseFound
      compact
      label={t.area}
      value={value}
      onChange={onChange}
      {...{ text, setText }}
      choices={wanted === '' ? [...others, ...found] : found}
      chosen={[...others, ...areas].find(({ id }) => id === value)?.name ?? form.unknown}
      note={isWhole ? undefined : t.moreCome}
    />
  )
}
