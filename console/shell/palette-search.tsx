import '../styles/palette.css'
import { type KeyboardEvent, useEffect, useId, useState } from 'react'
import { Input, TextField } from 'react-aria-components'
import { useNavigate } from 'react-router'
import { MAX_SEARCH } from '../api/lists.ts'
import { useWorkspace } from '../api/workspace.ts'
import type { PageKind } from '../kinds.ts'
import { afterDialog, focusHeading } from '../parts/focus.ts'
import { Icon, StateMark } from '../parts/icon.tsx'
import { sayFailure } from '../parts/parts.tsx'
import { useDebounced } from '../parts/use-debounced.ts'
import { useTexts } from '../texts/texts.tsx'
import { containing, type Entry, namesBegin, useFixedEntries } from './entries.ts'
import { useFoundEntries } from './found.ts'
import { keepRecent, readRecent } from './recent.ts'

/** How many entries a key moves by. */
const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }

/** The entry that a key leads to; an arrow key goes round. Undefined for another key, or without entries. */
function targetOf(key: string, at: number, count: number): number | undefined {
  const step = STEPS[key]
  if (step === undefined || count === 0) return undefined
  if (at < 0) return step > 0 ? 0 : count - 1
  return Math.abs(step) === 1 ? (at + step + count) % count : Math.min(Math.max(at + step, 0), count - 1)
}

/**
 * The field of the palette, and the entries that match it: a combobox of our own, because React Aria's leaves the highlight on
 * an entry that was the first before the server answered, or on none, while Enter takes the first.
 */
export function Search({ onDone }: { onDone: () => void }) {
  const texts = useTexts()
  const t = texts.palette
  const navigate = useNavigate()
  const { user, may } = useWorkspace()
  const whose = `${user.organizationId}/${user._id}`
  const [text, setText] = useState('')
  const debounced = useDebounced(text.trim())
  const { pages, actions } = useFixedEntries()
  const { found, isSearching, error } = useFoundEntries(text, debounced)

  const fixed = new Map([...pages, ...actions].map(entry => [entry.id, entry]))
  const contains = containing(text)
  const recent = readRecent(whose).flatMap((kept): Entry[] => {
    const known = fixed.get(kept.id)
    if (known) return namesBegin(known.name, text) ? [known] : []
    const fits = kept.to && contains(`${kept.name} ${kept.hint ?? ''}`)
    return fits ? [{ ...kept, icon: 'clock' }] : []
  })
  const isNew = ({ id }: Entry) => !recent.some(one => one.id === id)
  const groups = [
    ['recent', recent],
    ['pages', pages.filter(({ name }) => namesBegin(name, text)).filter(isNew)],
    ['actions', actions.filter(({ name }) => namesBegin(name, text)).filter(isNew)],
    ...found.map(([name, entries]) => [name, entries.filter(isNew)] as const),
  ] as const
  const titleOf = (name: (typeof groups)[number][0]) => {
    if (name === 'subjects' && !may('view/location')) return texts.kinds.devices.title
    return name in t.groups ? t.groups[name as keyof typeof t.groups] : texts.kinds[name as PageKind].title
  }
  const entries = groups.flatMap(([, entries]) => entries)
  const count = entries.length
  /** The entry that a key or the pointer has moved to since the last letter. */
  const [movedTo, setMovedTo] = useState<string | null>(null)
  const moved = entries.findIndex(({ id }) => id === movedTo)
  /** Which entry Enter takes, and which is highlighted: the first, until somebody moves; -1 for none. */
  const at = moved >= 0 ? moved : text.trim() !== '' && count > 0 ? 0 : -1
  const chosen = entries[at]
  const listId = useId()
  const idOf = (entry: Entry) => `${listId}-${entry.id}`
  useEffect(() => {
    if (movedTo !== null)
      document.getElementById(`${listId}-${movedTo}`)?.scrollIntoView({ block: 'nearest' })
  }, [listId, movedTo])

  /** Whether Enter waits for the server, as no loaded entry matches the text. */
  const [isWaiting, setWaiting] = useState(false)
  const type = (text: string) => {
    setMovedTo(null)
    setWaiting(false)
    setText(text)
  }
  const choose = (entry: Entry) => {
    const { id, name, hint, to } = entry
    keepRecent(whose, { id, name, hint, to })
    onDone()
    if (!to) return entry.run?.()
    void Promise.resolve(navigate(to)).then(() =>
      // A question about unsaved input may be open instead.
      afterDialog(() => document.querySelector('.modal-overlay') ?? focusHeading()),
    )
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    const to = targetOf(event.key, at, count)
    if (to !== undefined) {
      event.preventDefault()
      setMovedTo(entries[to]?.id ?? null)
    }
    if (event.key !== 'Enter') return
    event.preventDefault()
    if (chosen) choose(chosen)
    else setWaiting(isSearching)
  }
  useEffect(() => {
    if (!isWaiting || isSearching) return
    setWaiting(false)
    if (chosen) choose(chosen)
  })
  return (
    <>
      <TextField
        className="search palette-search"
        aria-label={texts.nav.commands}
        autoFocus
        value={text}
        onChange={type}
      >
        <Icon name="search" />
        <Input
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={count > 0}
          aria-controls={listId}
          aria-activedescendant={chosen && idOf(chosen)}
          autoComplete="off"
          placeholder={texts.nav.commands}
          maxLength={MAX_SEARCH}
          onKeyDown={onKeyDown}
        />
      </TextField>
      <div
        className="menu palette-list"
        id={listId}
        role="listbox"
        aria-label={t.results}
        hidden={count === 0}
      >
        {groups
          .filter(([, entries]) => entries.length > 0)
          .map(([name, entries]) => (
            // biome-ignore lint/a11y/useSemanticElements: a fieldset does not belong in a listbox
            <section key={name} role="group" aria-labelledby={`${listId}-${name}`}>
              <div className="menu-header" id={`${listId}-${name}`} role="presentation">
                {titleOf(name)}
              </div>
              {entries.map(entry => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the focus stays in the field, which handles the keys
                <div
                  key={entry.id}
                  id={idOf(entry)}
                  className="menu-item"
                  role="option"
                  tabIndex={-1}
                  aria-selected={entry === chosen}
                  data-focused={entry === chosen || undefined}
                  // The focus stays in the field.
                  onMouseDown={event => event.preventDefault()}
                  onPointerMove={() => setMovedTo(entry.id)}
                  onClick={() => choose(entry)}
                >
                  {entry.state ? <StateMark state={entry.state} /> : <Icon name={entry.icon} />}
                  <span>{entry.name}</span>
                  {entry.hint && <small>{entry.hint}</small>}
                </div>
              ))}
            </section>
          ))}
      </div>
      <p className={count === 0 || error ? 'hint palette-note' : 'unseen'} role="status">
        {error ? sayFailure(error, texts) : isSearching ? t.searching : count === 0 ? t.none : t.count(count)}
      </p>
    </>
  )
}
