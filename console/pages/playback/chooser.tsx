import { use, useMemo, useRef, useState } from 'react'
import {
  Button,
  ComboBox,
  ComboBoxStateContext,
  Input,
  ListBox,
  ListBoxItem,
  Popover,
} from 'react-aria-components'
import { MAX_SEARCH } from '../../api/lists.ts'
import { useFleetVersion, useLive } from '../../live/live.tsx'
import { Icon } from '../../parts/icon.tsx'
import { IconButton } from '../../parts/parts.tsx'
import { useDebounced } from '../../parts/use-debounced.ts'
import { useLocale } from '../../texts/texts.tsx'
import { keyOf, MAX_SUBJECTS, type Subject, TYPES } from './address.ts'
import { usePlaybackTexts } from './texts.ts'
import { useChosenNames, useVehicles } from './track-queries.ts'

/** A readable number; others are found by name. */
const OFFERED = 50
const REFRESH_MS = 5_000

interface Props {
  subjects: readonly Subject[]
  onChange: (subjects: Subject[]) => void
}

/** Chooses the subjects of the playback: everything that has ever sent a position, and the vehicles. */
export function Chooser({ subjects, onChange }: Props) {
  const t = usePlaybackTexts()
  const names = useChosenNames(subjects)
  const [search, setSearch] = useState('')
  const offered = useOffered(search, subjects)
  /** After a subject is added or removed, the field is a new and closed one, and gets the focus. */
  const changed = useRef(false)
  const isFull = subjects.length >= MAX_SUBJECTS
  const add = (key: unknown) => {
    const [type, id] = String(key).split(':')
    const known = TYPES.find(one => one === type)
    if (!known || !id) return
    changed.current = true
    setSearch('')
    onChange([...subjects, { type: known, id }])
  }
  const remove = (subject: Subject) => {
    changed.current = true
    onChange(subjects.filter(one => one !== subject))
  }
  return (
    <div className="chooser">
      {isFull ? (
        <p className="hint">{t.full(MAX_SUBJECTS)}</p>
      ) : (
        <ComboBox
          className="search"
          aria-label={t.choose}
          key={subjects.length}
          autoFocus={changed.current}
          allowsEmptyCollection
          items={offered}
          inputValue={search}
          onInputChange={setSearch}
          value={null}
          onChange={key => key !== null && add(key)}
        >
          <Icon name="search" />
          <Search placeholder={t.choose} />
          <Button className="button quiet square clear">
            <Icon name="down" />
          </Button>
          <Popover className="popover">
            <ListBox className="menu" renderEmptyState={() => <p className="hint menu-empty">{t.nobody}</p>}>
              {({ key, name, type }: { key: string; name: string; type: Subject['type'] }) => (
                <ListBoxItem id={key} textValue={name} className="menu-item">
                  <span>{name}</span>
                  <small>{t.types[type]}</small>
                </ListBoxItem>
              )}
            </ListBox>
          </Popover>
        </ComboBox>
      )}
      {subjects.length > 0 && (
        <ul className="chosen" aria-label={t.chosen}>
          {subjects.map((subject, index) => (
            <li className={`chip track-${index + 1}`} key={keyOf(subject)}>
              <span className="track-dot" aria-hidden="true" />
              <span className="chip-name">{names[index]}</span>
              <IconButton
                icon="close"
                label={t.remove(names[index] as string)}
                onPress={() => remove(subject)}
              />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** The field opens its list wherever it is pressed: nobody knows the offered names by heart. */
function Search({ placeholder }: { placeholder: string }) {
  const list = use(ComboBoxStateContext)
  return (
    <Input
      placeholder={placeholder}
      maxLength={MAX_SEARCH}
      onClick={() => list?.isOpen || list?.open(null, 'manual')}
    />
  )
}

function useOffered(search: string, chosen: readonly Subject[]) {
  const locale = useLocale()
  const { fleet } = useLive()
  const version = useFleetVersion(fleet, REFRESH_MS)
  const vehicles = useVehicles(useDebounced(search))
  return useMemo(() => {
    // The fleet changes in place, and the version tells when.
    void version
    const text = search.trim().toLowerCase()
    const taken = new Set(chosen.map(keyOf))
    const { compare } = new Intl.Collator(locale, { numeric: true })
    const live = fleet.ids.map((id, slot) => ({
      key: keyOf({ type: fleet.typeOf(slot), id }),
      name: fleet.names[slot] as string,
      type: fleet.typeOf(slot) as Subject['type'],
    }))
    const rest = vehicles.map(({ _id, name }) => ({
      key: keyOf({ type: 'vehicle', id: _id }),
      name,
      type: 'vehicle' as Subject['type'],
    }))
    return [...live, ...rest]
      .filter(({ key, name }) => !taken.has(key) && name.toLowerCase().includes(text))
      .sort((a, b) => compare(a.name, b.name))
      .slice(0, OFFERED)
  }, [search, chosen, fleet, version, vehicles, locale])
}
